"""Tasks: standing orders, which try themselves out, and hand in grid jobs until all items of a pool are done."""
