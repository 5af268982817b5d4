package verdict

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// SchemaVersion of Record. A reader refuses any other.
const SchemaVersion = 1

// Record is the machine-readable account of one run. validation.md is a pure function of it.
type Record struct {
	SchemaVersion int              `json:"schemaVersion"`
	Issue         string           `json:"issue"`
	RunID         string           `json:"runId"`
	Turn          int              `json:"turn,omitempty"` // from 1; 0 outside a repair loop
	Outcome       Outcome          `json:"outcome"`
	ExitCode      int              `json:"exitCode"`
	Verdict       string           `json:"verdict,omitempty"` // "CLEAR" or "BLOCKING" where the agents agreed on exactly one
	Criteria      []Criterion      `json:"criteria"`
	Findings      []Finding        `json:"findings"`
	Diagnostics   []Diagnostic     `json:"diagnostics"`
	Refusals      []Refusal        `json:"refusals"`
	Subject       Subject          `json:"subject"`
	Build         Build            `json:"build"`
	Environment   Environment      `json:"environment"`
	Agents        []Agent          `json:"agents"`
	Config        ConfigRef        `json:"config"`
	Timings       map[string]int64 `json:"timings"` // milliseconds by step name
	StartedAt     time.Time        `json:"startedAt"`
	Tool          Tool             `json:"tool"`
	Attestation   *Envelope        `json:"attestation,omitempty"` // a signature of all the above; nil: unsigned
}

// Envelope is a DSSE envelope: a payload and who signed it. Payload and Sig are in base64.
type Envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"`
	Signatures  []Signature `json:"signatures"`
}

// Signature is one signature of an Envelope.
type Signature struct {
	KeyID string `json:"keyid"` // a hint; it proves nothing
	Sig   string `json:"sig"`
}

// Subject is what was validated; all of it is bound by digest.
type Subject struct {
	Branch           string  `json:"branch,omitempty"`
	Commit           string  `json:"commit"`
	Tree             string  `json:"tree"` // of Commit without the ticket's validation.md
	ContractDigest   string  `json:"contractDigest"`
	ContractSource   string  `json:"contractSource"`             // "commit", "issue"
	ContractAccepted string  `json:"contractAccepted,omitempty"` // AcceptedByDigest, AcceptedByPerson; empty: the branch's history shows it
	Manifest         []Entry `json:"manifest"`
	ManifestDigest   string  `json:"manifestDigest"`
	Dirty            bool    `json:"dirty,omitempty"`
}

// What Subject.ContractAccepted says: nobody asked the branch's history whether the contract came before the code.
const (
	AcceptedByDigest = "digest" // the caller pinned what was agreed
	AcceptedByPerson = "person" // somebody accepted it as it is
)

// Entry is one path of the sealed artifact set. Path and Target are valid UTF-8: a byte that is not, a control
// character or a backslash is written as \xNN.
type Entry struct {
	Path   string `json:"path"` // relative to the set's root, slashes
	Type   string `json:"type"` // "file", "dir", "link"
	Mode   uint32 `json:"mode"` // permission bits
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"` // hex; files only
	Target string `json:"target,omitempty"` // links only
}

// Build says where and how long validate.build ran.
type Build struct {
	Where string `json:"where"` // "host" or "container"
	MS    int64  `json:"ms"`
	// Of a container only.
	Engine        string            `json:"engine,omitempty"`
	EngineVersion string            `json:"engineVersion,omitempty"`
	Image         string            `json:"image,omitempty"`
	ImageDigest   string            `json:"imageDigest,omitempty"`
	Limits        map[string]string `json:"limits,omitempty"`
}

// Environment says where the artifact was exercised.
type Environment struct {
	Engine        string            `json:"engine"`
	EngineVersion string            `json:"engineVersion"`
	EngineReason  string            `json:"engineReason,omitempty"` // why "auto" chose it
	Image         string            `json:"image"`
	ImageDigest   string            `json:"imageDigest,omitempty"`
	Userland      string            `json:"userland,omitempty"`       // e.g. the PRETTY_NAME of the box's os-release
	InstallFrom   []string          `json:"installNetwork,omitempty"` // what the install, and nothing else, could reach
	Isolation     map[string]string `json:"isolation"`                // what was seen from inside
	Limits        map[string]string `json:"limits"`                   // "2GiB (enforced)", "supervised", "unavailable: ..."
}

// Agent names one that judged.
type Agent struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Trust   string `json:"trust"` // "outside" or "inside"
}

// ConfigRef binds the configuration that was in force.
type ConfigRef struct {
	Digest string `json:"digest"`
	Source string `json:"source"`
	Ref    string `json:"ref,omitempty"` // the commit that the file was read from; empty: it was read from the disk
}

// TrustedBranch ends the Ref of a configuration that is the ticket's own, which somebody accepted.
const TrustedBranch = "the ticket's own, by --trust-branch-config"

// OfBranch reports whether the configuration is the ticket's own.
func (c ConfigRef) OfBranch() bool { return strings.HasSuffix(c.Ref, TrustedBranch) }

// Tool is the program that wrote the record.
type Tool struct {
	Version string `json:"version"`
}

// Digest names all that the record says, apart from its signature: hexadecimal digits of SHA-256 over its JSON.
func (r Record) Digest() (string, error) {
	r.Attestation = nil
	_, data, err := r.canonical()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// Computed is the outcome that the record's criteria, findings, diagnostics and verdict amount to.
func (r Record) Computed() Outcome {
	j := Judgement{Verdict: r.Verdict, Criteria: r.Criteria, Findings: r.Findings, Diagnostics: r.Diagnostics}
	j.conclude()
	return j.Outcome
}

// SaysTheSame reports whether two records give the same verdict of the same subject in the same image by the same agents, so that the
// later one need not be committed. Evidence, which holds times, the commit and the place may differ.
func (r Record) SaysTheSame(other Record) bool {
	return r.Issue == other.Issue && r.Outcome == other.Outcome && r.Verdict == other.Verdict &&
		r.Subject.Tree == other.Subject.Tree && r.Subject.Dirty == other.Subject.Dirty &&
		r.Subject.ContractDigest == other.Subject.ContractDigest && r.Subject.ManifestDigest == other.Subject.ManifestDigest &&
		r.Subject.ContractAccepted == other.Subject.ContractAccepted &&
		r.Environment.ImageDigest == other.Environment.ImageDigest &&
		r.Config.Digest == other.Config.Digest && r.Config.OfBranch() == other.Config.OfBranch() && slices.Equal(r.Agents, other.Agents) &&
		slices.EqualFunc(r.Criteria, other.Criteria, func(a, b Criterion) bool { return a.ID == b.ID && a.Text == b.Text && a.Status == b.Status }) &&
		slices.EqualFunc(r.Findings, other.Findings, func(a, b Finding) bool { return a.ID == b.ID && a.Severity == b.Severity }) &&
		slices.EqualFunc(r.Diagnostics, other.Diagnostics, func(a, b Diagnostic) bool { return a.Code == b.Code })
}
