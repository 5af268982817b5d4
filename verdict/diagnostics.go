package verdict

// The codes of diagnostics. Each keeps a run from Clear.
const (
	CriterionMissing     = "criterion_missing"      // no agent reported on an assertion
	CriterionRepeated    = "criterion_repeated"     // one agent reported on it twice
	CriterionUnknown     = "criterion_unknown"      // the contract has no such id
	PassWithoutEvidence  = "pass_without_evidence"  // "pass" and nothing that was seen
	StatusUnknown        = "status_unknown"         // a report built in code holds a status that is none
	VerdictMissing       = "verdict_missing"        // no VERDICT line
	VerdictRepeated      = "verdict_repeated"       // more than one
	VerdictNotLast       = "verdict_not_last"       // text after it
	ClearWithObjection   = "clear_with_objection"   // CLEAR beside a fail or a BLOCKING finding
	BlockingWithoutCause = "blocking_without_cause" // BLOCKING beside neither
	LineUnreadable       = "line_unreadable"        // begins as a report line and is none
	ReviewInvalid        = "review_invalid"         // a typed acceptance review that breaks its rules
	ReportTooLarge       = "report_too_large"       // a bound of this package was exceeded
	NothingToJudge       = "nothing_to_judge"       // no assertion or no report
	AgentExit            = "agent_exit"             // the agent ended with another exit code than 0
	AgentSignal          = "agent_signal"           // the agent was ended by a signal
	AgentDeadline        = "agent_deadline"         // the agent ran out of time
	AgentOutputLimit     = "agent_output_limit"     // the agent wrote more than it may
	AgentMemory          = "agent_memory"           // the agent, or something it ran, was ended for memory
	AgentFailed          = "agent_failed"           // the agent ended badly in another way
	BoxLost              = "box_lost"               // the box went while the subject ran
)

// Diagnose adds a diagnostic, once.
func (r *Report) Diagnose(code, detail string) {
	r.Diagnostics = addDiagnostic(r.Diagnostics, Diagnostic{Code: code, Detail: detail})
}

func addDiagnostic(list []Diagnostic, d Diagnostic) []Diagnostic {
	for _, have := range list {
		if have == d {
			return list
		}
	}
	return append(list, d)
}
