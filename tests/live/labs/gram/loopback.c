/* Nothing of GRAM can be told where to listen: gatekeeper, job manager, and the client's own listeners all bind every
 * address. Preloaded, this makes it the loopback one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>

int bind(int fd, const struct sockaddr *wanted, socklen_t size)
{
    int (*real)(int, const struct sockaddr *, socklen_t) = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "bind");
    if (wanted && wanted->sa_family == AF_INET && size >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in changed = *(const struct sockaddr_in *)wanted;
        if (changed.sin_addr.s_addr == htonl(INADDR_ANY))
            changed.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return real(fd, (struct sockaddr *)&changed, sizeof changed);
    }
    if (wanted && wanted->sa_family == AF_INET6 && size >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 changed = *(const struct sockaddr_in6 *)wanted;
        if (IN6_IS_ADDR_UNSPECIFIED(&changed.sin6_addr)) { /* 127.0.0.1 as IPv6 writes it, for clients that speak IPv4 */
            changed.sin6_addr.s6_addr[10] = changed.sin6_addr.s6_addr[11] = 0xff;
            changed.sin6_addr.s6_addr[12] = 127;
            changed.sin6_addr.s6_addr[15] = 1;
        }
        return real(fd, (struct sockaddr *)&changed, sizeof changed);
    }
    return real(fd, wanted, size);
}
