/* gram-signal CONTACT NUMBER [TEXT]: send a signal to a job, which no client of the packages does; 2 suspends, 3 resumes,
 * 4 sets a priority. GRAM refuses one without a text. Exits with its error number. */
#include <globus_gram_client.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    int status = 0, reason = 0, code;

    if (count < 3 || count > 4)
        return 2;
    globus_module_activate(GLOBUS_GRAM_CLIENT_MODULE);
    code = globus_gram_client_job_signal(words[1], atoi(words[2]), count == 4 ? words[3] : "-", &status, &reason);
    printf("code %d, status %d, reason %d\n", code, status, reason);
    return code ? code : reason;
}
