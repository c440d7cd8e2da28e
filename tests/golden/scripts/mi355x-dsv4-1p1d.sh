#!/bin/bash
#SBATCH --job-name=dsv4-pro-mi355x-1p1d
#SBATCH --output=/shared/outputs/RUN/job.log
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:8
#SBATCH --account=ml
#SBATCH --partition=mi355x
#SBATCH --time=2:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --cpus-per-task=128
#SBATCH --mem=0
#SBATCH --no-requeue

umask 077
cd /shared/outputs/RUN || exit 1
exec /opt/inferlane/bin/python -P -m inferlane.slurm.job /shared/outputs/RUN
