#!/bin/sh
# Brings up Slurm's own qsub, qstat, qdel (Debian's slurm-wlm-torque), which speak like PBS, over the Slurm lab.
# As root; the Slurm lab must be up. Clients: PATH=DIR/usr/bin:$PATH
#
# The package would replace gridengine-client without a question, so it is unpacked and not installed.
lab=pbs-wrappers
. "${0%/*}/../common.sh"
slurm=$labs/slurm

[ -e "$slurm/settings" ] || die "start the Slurm lab first: $here/../slurm/up.sh"
install_packages libslurm-perl libslurmdb-perl libswitch-perl
if [ ! -x "$dir/usr/bin/qsub" ]; then
    rm -rf "$dir"
    mkdir -p "$dir"
    chmod 755 "$dir"
    (cd "$dir" && apt-get -q download slurm-wlm-torque >/dev/null 2>&1 && dpkg-deb -x slurm-wlm-torque_*.deb .)
    # qsub runs the sbatch that lies beside it.
    for program in sbatch squeue scontrol scancel; do ln -sf "$(command -v "$program")" "$dir/usr/bin/$program"; done
fi
# Without this plug-in a job sees no PBS_JOBID.
plugin=$(find /usr/lib -name spank_pbs.so -path '*slurm-wlm*' 2>/dev/null | head -n 1)
[ -z "$plugin" ] || echo "optional $plugin" >"$slurm/plugstack.d/pbs.conf"
say "is up; PATH=$dir/usr/bin:\$PATH"
