package verdict

// AcceptanceReview is a typed acceptance review as it is written and read, for whoever describes it.
type AcceptanceReview = review
