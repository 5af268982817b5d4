// Package verdict turns what agents report into an outcome, and an outcome into records that people and programs
// read. It is pure: nothing here touches a file, a process or a clock.
package verdict

// Status says how one criterion was judged.
type Status string

// The four statuses. Only Met counts towards clear.
const (
	Met        Status = "met"
	Unmet      Status = "unmet"
	Blocked    Status = "blocked"    // verification was prevented
	Unverified Status = "unverified" // not checked
)

// Severity of a finding.
type Severity string

// Only a Blocking finding weighs on the outcome.
const (
	SeverityBlocking Severity = "BLOCKING"
	SeverityNote     Severity = "NOTE"
)

// Outcome is what the program computes; never an agent's word alone.
type Outcome string

// The five outcomes. Refused and Error are never computed from a report: nothing was validated.
const (
	Clear      Outcome = "clear"
	Blocking   Outcome = "blocking"
	Incomplete Outcome = "incomplete"
	Refused    Outcome = "refused"
	Error      Outcome = "error"
)

// ExitCode is the stable exit code of an outcome; an unknown outcome is 6.
func (o Outcome) ExitCode() int {
	switch o {
	case Clear:
		return 0
	case Blocking:
		return 1
	case Incomplete:
		return 3
	case Refused:
		return 4
	default:
		return 6
	}
}

// Criterion is one assertion of the contract as judged.
type Criterion struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Status   Status `json:"status"`
	Evidence string `json:"evidence"`
	By       string `json:"by,omitempty"` // the agent that decided; empty where none did
}

// Finding is a remark that is no criterion.
type Finding struct {
	ID       string   `json:"id"` // stable: the same finding has the same id in the next turn
	Severity Severity `json:"severity"`
	Place    string   `json:"place"`
	Text     string   `json:"text"`
	Criteria []string `json:"criteria,omitempty"`
}

// Diagnostic says why a report cannot be taken at its word. Each keeps the run from Clear.
type Diagnostic struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Report is what one agent said, already parsed.
type Report struct {
	Criteria    []Reported
	Findings    []Finding
	Verdicts    []string // every VERDICT line in order, "CLEAR" or "BLOCKING"; exactly one is right
	Diagnostics []Diagnostic
	Typed       TypedReview // what ParseReport found of typed acceptance reviews
}

// TypedReview says what a report holds of typed acceptance reviews.
type TypedReview string

// The three kinds. Where it is absent or invalid, the report's lines are all that was read.
const (
	TypedAbsent  TypedReview = "absent"
	TypedInvalid TypedReview = "invalid"
	TypedReport  TypedReview = "report"
)

// Reported is one criterion line of a report.
type Reported struct {
	ID       string
	Status   Status
	Evidence string
}

// Reason names why a run could not start.
type Reason string

// The reasons of a refusal. They are stable and feed a caller's turn loop. Those that begin with record_ are the gate's:
// why a recorded verdict does not count.
const (
	TicketNotFound   Reason = "ticket_not_found"
	BranchAmbiguous  Reason = "branch_ambiguous"
	DetachedHead     Reason = "detached_head"
	DefaultBranch    Reason = "default_branch"
	NoContract       Reason = "no_contract"
	ContractInvalid  Reason = "contract_invalid"
	ContractChanged  Reason = "contract_changed"
	DirtyWorktree    Reason = "dirty_worktree"
	BuildMissing     Reason = "build_missing"
	BuildFailed      Reason = "build_failed"
	BuildTimeout     Reason = "build_timeout"
	ArtifactMissing  Reason = "artifact_missing"
	ArtifactUnsafe   Reason = "artifact_unsafe"
	ArtifactIsSource Reason = "artifact_is_source"
	ArtifactTooLarge Reason = "artifact_too_large"

	RecordMissing     Reason = "record_missing"     // nobody judged, or it was not committed
	RecordInvalid     Reason = "record_invalid"     // validation.md holds no record that can be read
	RecordEdited      Reason = "record_edited"      // it is not what the program makes of its record
	RecordContradicts Reason = "record_contradicts" // no run ends with such a record
	RecordForeign     Reason = "record_foreign"     // it is about another issue
	RecordStale       Reason = "record_stale"       // it is about another tree, contract, configuration, artifact set or image
	RecordDirty       Reason = "record_dirty"       // it is about changes that were never committed
	RecordOwnConfig   Reason = "record_own_config"  // the ticket's branch decided how it was judged
	RecordInside      Reason = "record_inside"      // an agent judged from inside the box, and the configuration does not take its word
	RecordExpired     Reason = "record_expired"     // it is older than is allowed
	RecordUnsigned    Reason = "record_unsigned"    // nobody signed it
	RecordUntrusted   Reason = "record_untrusted"   // its signature is another record's, broken, or by a key that is not trusted
)

// Refusal says that a run cannot start because of what the ticket holds. It is an error so that packages can return
// it; several are joined with errors.Join.
type Refusal struct {
	Reason Reason   `json:"reason"`
	Detail string   `json:"detail"`
	Hints  []string `json:"hints,omitempty"`
}

func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Detail }
