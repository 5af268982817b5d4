package verdict

import "github.com/trkr-dev/trkr-validate/contract"

// AgentReport is what one agent reported.
type AgentReport struct {
	Agent  string // its name, as criteria say in By
	Report Report
}

// Judgement is what all reports amount to.
type Judgement struct {
	Outcome     Outcome
	Verdict     string // "CLEAR" or "BLOCKING" where the agents agreed on exactly one
	Criteria    []Criterion
	Findings    []Finding
	Diagnostics []Diagnostic
}

func Judge(c contract.Contract, reports []AgentReport) Judgement {
	return Judgement{Outcome: Incomplete}
}
