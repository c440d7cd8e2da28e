"""The Slurm launcher: submit, run inside of the job, observe."""
