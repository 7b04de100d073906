"""What comes of a task's pieces: outputs, brought and stored."""
