"""What each `reanon` command does, one file for each. Nothing here imports dagster."""
