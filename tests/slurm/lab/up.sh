#!/usr/bin/env bash
# A real Slurm cluster on one machine, without systemd: one head (munged, slurmctld, and on request
# slurmdbd + MariaDB) and N nodes, each in its own network, UTS, mount and PID namespace, hence with
# its own host name, IP address, ports, /proc and /dev/shm.  No link to the outside.  Needs root and
#   apt-get install slurm-wlm munge iproute2 gcc libc6-dev libslurm-dev
# and for DBD=1 slurmdbd slurm-wlm-mysql-plugin mariadb-server, for srun --mpi=pmix libpmix-dev.
# Puts into $SLURMLAB_DIR/bin (put it first in PATH):
#   sbatch srun squeue scancel ...   Slurm's clients, as on the head
#   lab CMD...                       run CMD on the head (it reaches the nodes by name or address)
#   lab-on NODE CMD...               run CMD on NODE
#   lab-fault power-off|power-on|cable-out|cable-in|slurmd-kill|slurmd-start NODE
#   lab-fault ctld-kill|ctld-start
# After power-on a node stays "down (Node unexpectedly rebooted)", as on most sites, until
# scontrol update nodename=NODE state=resume.  A lost node is noticed after about 28 s; with
# SLURMLAB_SLURMD_TIMEOUT=6 SLURMLAB_MESSAGE_TIMEOUT=3 after about 10 s.
# $SLURMLAB_DIR/shared plays the shared file system.  Stop with down.sh.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
export SLURMLAB_DIR=${SLURMLAB_DIR:-/tmp/slurmlab}
L=$SLURMLAB_DIR
N=${SLURMLAB_NODES:-4}                # number of nodes
PREFIX=${SLURMLAB_PREFIX:-node-}      # nodes are PREFIX01..PREFIXnn
NET=${SLURMLAB_NET:-10.77.0}          # the head is NET.1, the nodes NET.11, NET.12, ... on eth0
FABRIC=${SLURMLAB_FABRIC:-}           # e.g. 10.78.0: the nodes have FABRIC.11, FABRIC.12, ... on fab0 too; the head has not
GPUS=${SLURMLAB_GPUS:-8}              # fake GPUs per node; 0: the cluster knows no GPUs
GRES_ONLY=${SLURMLAB_GRES_ONLY:-0}    # 1: --gpus-per-node and its like are refused, --gres=gpu:N works
PYXIS=${SLURMLAB_PYXIS:-1}            # 1: srun and sbatch take pyxis's options, see spank_lab.c
SEGMENT=${SLURMLAB_SEGMENT:-0}        # 1: they also take --segment (needs PYXIS=1)
DBD=${SLURMLAB_DBD:-0}                # 1: slurmdbd + MariaDB, so that sacct works
PRIVTMP=${SLURMLAB_PRIVTMP:-1}        # 1: every node has its own /tmp, 0: they share the machine's
SHARE=${SLURMLAB_SHARE:-}             # folders that all nodes and users see, also below /tmp or below closed folders
OWNER=${SLURMLAB_OWNER:-}             # process with whose end the lab ends, and its folder goes
USERS=${SLURMLAB_USERS:-}             # ordinary users that the lab has besides the machine's, homes in shared/home
RUNAS=${SLURMLAB_USER:-}              # user that the commands in bin run as; empty: the caller
FREEZER=/sys/fs/cgroup/freezer        # cgroup v1; where it is missing, see ProctrackType below
[ -w $FREEZER/cgroup.procs ] || FREEZER=
CG=$FREEZER/lab${L//\//_}
BOOT=${BOOT:-}
SELF=$(readlink -f "$0"); HERE=$(dirname "$SELF")
HEADPID="\$(cut -d' ' -f1 $L/run/head.pid)" # for the generated commands
node() { printf '%s%02d' "$PREFIX" "$1"; }
wait_for() { # SECONDS CMD...: poll until CMD succeeds
  local end=$((SECONDS + $1)); shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || { echo "up.sh: timed out waiting for: $*" >&2; return 1; }; sleep .05
  done; }

write_config() {
  local i names gpus=""; printf -v names '%s[01-%02d]' "$PREFIX" "$N"
  if [ "$GPUS" -gt 0 ]; then # gres.conf needs character devices: copies of /dev/null
    gpus="Gres=gpu:$GPUS"
    for ((i = 0; i < GPUS; i++)); do mknod "$L/dev/gpu$i" c 1 3; done
    # without flags a step gets ROCR_, CUDA_VISIBLE_DEVICES, ZE_AFFINITY_MASK and GPU_DEVICE_ORDINAL
    echo "Name=gpu File=$L/dev/gpu[0-$((GPUS - 1))] ${SLURMLAB_GPU_FLAGS-Flags=amd_gpu_env}" >"$L/etc/gres.conf"
  fi
  cat >"$L/etc/slurm.conf" <<C
ClusterName=lab
SlurmctldHost=head($NET.1)
AuthInfo=socket=$L/run/munge.sock
SlurmUser=root
StateSaveLocation=$L/state
SlurmdSpoolDir=$L/spool/%n
SlurmctldPidFile=$L/run/slurmctld.pid
SlurmdPidFile=$L/run/slurmd.%n.pid
SlurmctldLogFile=$L/log/slurmctld.log
SlurmdLogFile=$L/log/%n.log
MailProg=/bin/true
ProctrackType=proctrack/$([ -n "$FREEZER" ] && echo cgroup || echo linuxproc)
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobCompType=jobcomp/filetxt
JobCompLoc=$L/log/jobcomp.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,bf_interval=5
ReturnToService=1
SlurmdTimeout=${SLURMLAB_SLURMD_TIMEOUT:-10}
MessageTimeout=${SLURMLAB_MESSAGE_TIMEOUT:-10}
KillWait=${SLURMLAB_KILLWAIT:-5}
TCPTimeout=2
PrologFlags=Alloc
PartitionName=main Nodes=$names Default=YES DefaultTime=60 MaxTime=INFINITE State=UP
NodeName=$names NodeAddr=$NET.[11-$((10 + N))] Sockets=2 CoresPerSocket=64 ThreadsPerCore=1 RealMemory=2000000 $gpus
C
  {
    if [ -n "$gpus" ]; then echo "GresTypes=gpu"; fi
    if [ "$DBD" = 1 ]; then
      printf 'AccountingStorage%s\n' Type=accounting_storage/slurmdbd Host="$NET.1" Pass="$L/run/munge.sock"
      if [ -n "$gpus" ]; then echo "AccountingStorageTRES=gres/gpu"; fi # fatal without slurmdbd
    fi
    if [ "$GRES_ONLY" = 1 ]; then echo "CliFilterPlugins=lua"; fi
    echo "${SLURMLAB_EXTRA_CONF:-}"
  } >>"$L/etc/slurm.conf"
  echo "CgroupPlugin=cgroup/v1" >"$L/etc/cgroup.conf"
  (umask 077; cat >"$L/etc/slurmdbd.conf" <<C
AuthInfo=socket=$L/run/munge.sock
DbdHost=head
DbdAddr=$NET.1
SlurmUser=root
LogFile=$L/log/slurmdbd.log
PidFile=$L/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StorageUser=root
StorageLoc=slurm_acct
C
  )
  cat >"$L/etc/cli_filter.lua" <<'C'
function slurm_cli_setup_defaults(o, early) return slurm.SUCCESS end
function slurm_cli_pre_submit(o, offset)
  for _, k in ipairs({"gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket"}) do
    if o[k] ~= nil then slurm.log_error("--" .. k .. " is not supported on this cluster, use --gres") return slurm.ERROR end
  end
  return slurm.SUCCESS
end
function slurm_cli_post_submit(offset, job, step) return slurm.SUCCESS end
C
  : >"$L/etc/plugstack.conf"
  if [ "$PYXIS" = 1 ]; then
    gcc -shared -fPIC -O1 -Wall -Wextra -o "$L/etc/spank_lab.so" "$HERE/spank_lab.c"; cp "$HERE/container.sh" "$L/etc/"
    echo "required $L/etc/spank_lab.so $L $([ "$SEGMENT" = 0 ] || echo segment)" >"$L/etc/plugstack.conf"
    # folders that an image has besides the system's; by default the Python that runs here
    echo "${SLURMLAB_IMAGE_DIRS-$(python3 -c 'import sys; print(sys.prefix, sys.base_prefix)')}" >"$L/etc/image-dirs"
  fi
  { echo "127.0.0.1 localhost"; echo "$NET.1 head"
    for ((i = 1; i <= N; i++)); do echo "$NET.$((10 + i)) $(node $i)"; done; } >"$L/etc/hosts"
  dd if=/dev/urandom of="$L/etc/munge.key" bs=128 count=1 status=none; chmod 400 "$L/etc/munge.key"
}

write_commands() {
  local c real as=
  [ -z "$RUNAS" ] || as="setpriv --reuid=$RUNAS --regid=$(id -g "$RUNAS") --init-groups env USER=$RUNAS HOME=$(getent passwd "$RUNAS" | cut -d: -f6)"
  for c in sbatch srun salloc squeue scancel scontrol sinfo sacct sacctmgr sstat sattach sbcast lab; do
    real=/usr/bin/$c; [ $c != lab ] || real=
    cat >"$L/bin/$c" <<C
#!/bin/sh
[ ! -e /etc/slurm/lab ] || exec $real "\$@" # called inside a lab
exec nsenter -t "$HEADPID" -n -u -m -- env -C "\$PWD" $as $real "\$@"
C
  done
  cat >"$L/bin/lab-on" <<C
#!/bin/sh
n=\$1; shift
exec nsenter -t "\$(cut -d' ' -f1 $L/run/\$n.pid)" -n -u -m -p -- "\$@"
C
  cat >"$L/bin/lab-fault" <<C
#!/bin/bash
. $L/run/env
head="nsenter -t $HEADPID -n -u -m -p --" i=\${2#"$PREFIX"}
case \$1 in
  power-off) kill -9 "\$(cut -d' ' -f1 "$L/run/\$2.pid")" ;;
  power-on) \$head $SELF __power_on \$((10#\$i)) ;;
  cable-out | cable-in)
    case \$1 in *-out) to=down ;; *) to=up ;; esac
    for end in ve $([ -z "$FABRIC" ] || echo fa); do \$head ip link set "\$end\$((10#\$i))" \$to; done ;;
  slurmd-kill) $L/bin/lab-on \$2 kill -9 "\$(cat "$L/run/slurmd.\$2.pid")" ;;
  slurmd-start) $L/bin/lab-on \$2 slurmd ;;
  ctld-kill) \$head kill -9 "\$(cat $L/run/slurmctld.pid)" ;;
  ctld-start) \$head slurmctld ;;
  *) echo "unknown fault: \$1" >&2; exit 2 ;;
esac
C
  export -p | grep SLURMLAB_ >"$L/run/env"
  chmod +x "$L"/bin/*
}

open_folders() { # a closed folder on the way to one of SHARE is covered: by an empty one that leads there only
  local d part way i=0
  for d in $SHARE; do mkdir -p "$L/open/$((i += 1))"; mount --rbind "$d" "$L/open/$i"; done
  i=0
  for d in $SHARE; do
    i=$((i + 1)) way=
    while IFS= read -r -d / part; do
      way=$way/$part
      if [ -d "$way" ] && [ $((0$(stat -c %a "$way") & 1)) = 0 ]; then mount -t tmpfs -o mode=755 open "$way"; fi
    done <<<"${d#/}"
    if ! [ "$d" -ef "$L/open/$i" ]; then mkdir -p "$d"; mount --rbind "$L/open/$i" "$d"; fi
    umount -l "$L/open/$i"
  done
}
add_users() {
  local u id=20000
  cp /etc/passwd /etc/group "$L/etc/"
  for u in $USERS; do
    id=$((id + 1))
    echo "$u:x:$id:$id::$L/shared/home/$u:/bin/bash" >>"$L/etc/passwd"; echo "$u:x:$id:" >>"$L/etc/group"
    install -d -o $id -g $id -m 700 "$L/shared/home/$u"
  done
  mount --bind "$L/etc/passwd" /etc/passwd; mount --bind "$L/etc/group" /etc/group
}

save_pid() { # FILE: this process as the /proc of the machine numbers it, and its start time
  local s; read -r s </proc/self/stat; set -- "$1" $s; echo "$2 ${23}" >"$1"
}
start_node() ( # called in the head's namespaces
  name=$(node "$1"); rm -f "$L/run/$name.pid"
  if [ -n "$FREEZER" ]; then mkdir -p "$CG/$name"; echo 0 >"$CG/$name/cgroup.procs"; fi
  export BOOT
  exec setsid unshare --net --uts --mount --pid --cgroup --fork --kill-child "$SELF" __node "$1" \
    </dev/null >>"$L/log/$name.out" 2>&1
)
start_dbd() {
  if [ ! -d "$L/db.new" ]; then # kept over restarts: an empty database, about 110 MB
    mariadb-install-db --no-defaults --user=root --datadir="$L/db.tmp" --skip-test-db >/dev/null
    mv "$L/db.tmp" "$L/db.new"
  fi
  rm -rf "$L/db"; cp -a "$L/db.new" "$L/db"
  mariadbd --no-defaults --user=root --datadir="$L/db" --socket="$L/run/mysqld.sock" --pid-file="$L/run/mysqld.pid" \
    --bind-address=127.0.0.1 --skip-grant-tables --skip-log-bin \
    --innodb-flush-log-at-trx-commit=0 --innodb-lock-wait-timeout=900 &
  wait_for 10 test -S "$L/run/mysqld.sock"
  slurmdbd -D &
  wait_for 10 sacctmgr -n show cluster
  sacctmgr -i add cluster lab >/dev/null
}

case ${1:-up} in
up)
  for c in munged slurmctld slurmd sbatch ip nsenter setpriv $([ "$PYXIS" = 0 ] || echo gcc) $([ "$DBD" = 0 ] || echo slurmdbd mariadbd); do
    command -v "$c" >/dev/null || { echo "up.sh: $c is missing" >&2; exit 1; }
  done
  case $L in
    *[!A-Za-z0-9/_.-]*) echo "up.sh: SLURMLAB_DIR: odd characters" >&2; exit 1 ;;
    /[!/]*/[!/]*) ;;
    *) echo "up.sh: SLURMLAB_DIR must be like /tmp/slurmlab" >&2; exit 1 ;;
  esac
  [ -e "$L/.slurmlab" ] || [ -z "$(ls -A "$L" 2>/dev/null)" ] || { echo "up.sh: $L is neither empty nor an old lab" >&2; exit 1; }
  "$HERE/down.sh"
  mkdir -p "$L"/{etc,run,log,state,spool,dev,bin,open,shared/home}; : >"$L/.slurmlab"; rm -rf "$L"/{etc,run,log,state,spool,dev,bin}/*
  chmod 755 "$L" "$L/run"; chmod 1777 "$L/shared"; echo "$L" >"$L/etc/lab"
  write_config; write_commands
  setsid unshare --net --uts --mount --pid --fork --kill-child "$SELF" __head </dev/null >"$L/log/head.out" 2>&1 &
  up=$!
  ready() { [ -e "$L/run/ready" ] || ! kill -0 $up; }
  wait_for 40 ready || :
  [ -e "$L/run/ready" ] || { tail -n 20 "$L/log/head.out" >&2; "$HERE/down.sh"; exit 1; }
  [ -z "$OWNER" ] || setsid "$SELF" __keep </dev/null >/dev/null 2>&1 &
  "$L/bin/sinfo" ;;
__keep)
  while [ -e "$L/run/ready" ] && kill -0 "$OWNER" 2>/dev/null; do sleep 1; done
  [ -e "$L/run/ready" ] || exit 0 # stopped in order
  for _ in {1..20}; do said=$("$HERE/down.sh" 2>&1); [ -n "$said" ] || break; sleep .3; done
  rm -rf "$L" ;;
__head) # PID 1 of the head.  Its /proc stays the machine's: clients come in without its PID namespace
  save_pid "$L/run/head.pid"
  hostname head; open_folders; add_users; mount --bind "$L/etc/hosts" /etc/hosts; mount --bind "$L/etc" /etc/slurm
  ip link set lo up; ip link add br0 type bridge; ip addr add "$NET.1/24" dev br0; ip link set br0 up
  [ -z "$FABRIC" ] || { ip link add br1 type bridge; ip link set br1 up; }
  munged -F --force --key-file="$L/etc/munge.key" --socket="$L/run/munge.sock" --pid-file="$L/run/munged.pid" \
    --log-file="$L/log/munged.log" --seed-file="$L/run/munge.seed" --num-threads=10 &
  wait_for 5 test -S "$L/run/munge.sock"
  [ "$DBD" = 0 ] || start_dbd
  slurmctld -D &
  for ((i = 1; i <= N; i++)); do start_node "$i" & done
  all_idle() { [ "$(sinfo -h -N -t idle -o %N | wc -l)" = "$N" ]; }
  wait_for 15 all_idle
  touch "$L/run/ready"
  while :; do wait || :; sleep 1; done ;; # reap
__power_on) BOOT=-b start_node "$2" & ;; # -b: slurmd reports a reboot
__node) # PID 1 of a node
  i=$2 name=$(node "$2")
  in_head="nsenter --net=/proc/$(cut -d' ' -f1 "$L/run/head.pid")/ns/net"
  $in_head ip link add "ve$i" master br0 up type veth peer name eth0 netns 1
  [ -z "$FABRIC" ] || $in_head ip link add "fa$i" master br1 up type veth peer name fab0 netns 1
  save_pid "$L/run/$name.pid"
  hostname "$name"; mount -t proc proc /proc; mount -t tmpfs -o mode=1777 shm /dev/shm
  [ -z "$FREEZER" ] || mount --bind "$CG/$name" $FREEZER
  mount --rbind /sys/fs/cgroup /mnt; mount -t sysfs sysfs /sys; mount --rbind /mnt /sys/fs/cgroup; umount -l /mnt
  if [ "$PRIVTMP" = 1 ]; then
    mount --rbind /tmp /mnt; mount -t tmpfs -o mode=1777 tmp /tmp
    for d in "$L" $SHARE; do
      case $d in /tmp/*) mkdir -p "$d"; mount --rbind "/mnt${d#/tmp}" "$d" ;; esac
    done
    umount -l /mnt
  fi
  ip link set lo up; ip addr add "$NET.$((10 + i))/24" dev eth0; ip link set eth0 up
  [ -z "$FABRIC" ] || { ip addr add "$FABRIC.$((10 + i))/24" dev fab0; ip link set fab0 up; }
  slurmd -D ${BOOT:-} &
  while :; do wait || :; sleep 1; done ;;
esac
