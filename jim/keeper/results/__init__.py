"""What goes out: outputs, tars, answers, and the accounting."""
