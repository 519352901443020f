"""JS-reduce, after Riboni, Pareschi and Bettini (2012): the members of a group look alike to the adversary."""
