"""The items of a task: found, closed, lost, and fed to other tasks."""
