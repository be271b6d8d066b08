"""What findings mean beside each other: each rule is one function that says on which fact it rests."""
