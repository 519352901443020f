"""JS-reduce, after Riboni, Pareschi and Bettini (2012): people who look alike share a group. See PAPER.md."""
