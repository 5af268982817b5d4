package attest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// The types of what is signed.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://in-toto.io/attestation/test-result/v0.1"
)

// Statement is an in-toto Statement with the test-result predicate.
type Statement struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     Predicate  `json:"predicate"`
}

// Resource names something by its digest.
type Resource struct {
	Name        string            `json:"name,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Predicate is a test result: the tests are the assertions of the contract.
type Predicate struct {
	Result        string     `json:"result"` // "PASSED" of a clear outcome, else "FAILED"
	Configuration []Resource `json:"configuration"`
	PassedTests   []string   `json:"passedTests,omitempty"`
	WarnedTests   []string   `json:"warnedTests,omitempty"` // what could not be told
	FailedTests   []string   `json:"failedTests,omitempty"`
}

// recordName is the resource that binds all of the record.
const recordName = "record"

// StatementOf says what a record says: about the commit's tree without the ticket's validation.md and each file of the
// artifact set, by contract, configuration, image and record. A resource that has no digest is left out: the record
// holds it.
func StatementOf(r verdict.Record) (Statement, error) {
	digest, err := r.Digest()
	if err != nil {
		return Statement{}, err
	}
	s := Statement{Type: StatementType, PredicateType: PredicateType, Subject: []Resource{{Name: "tree", Digest: gitTree(r.Subject.Tree)}}}
	for _, e := range r.Subject.Manifest {
		if e.Type == "file" {
			s.Subject = append(s.Subject, Resource{Name: e.Path, Digest: map[string]string{"sha256": e.SHA256}})
		}
	}
	s.Predicate.Result = "FAILED"
	if r.Outcome == verdict.Clear {
		s.Predicate.Result = "PASSED"
	}
	s.Predicate.Configuration = []Resource{{Name: recordName, Digest: map[string]string{"sha256": digest}, Annotations: map[string]string{
		"issue": r.Issue, "outcome": string(r.Outcome), "commit": r.Subject.Commit, "build": r.Build.Where,
	}}}
	for _, c := range []struct{ name, digest string }{
		{"contract", r.Subject.ContractDigest}, {"config", r.Config.Digest}, {"image", r.Environment.ImageDigest},
	} {
		if algorithm, hex, ok := strings.Cut(c.digest, ":"); ok {
			s.Predicate.Configuration = append(s.Predicate.Configuration, Resource{Name: c.name, Digest: map[string]string{algorithm: hex}})
		}
	}
	for _, c := range r.Criteria {
		switch c.Status {
		case verdict.Met:
			s.Predicate.PassedTests = append(s.Predicate.PassedTests, c.ID)
		case verdict.Unmet:
			s.Predicate.FailedTests = append(s.Predicate.FailedTests, c.ID)
		default:
			s.Predicate.WarnedTests = append(s.Predicate.WarnedTests, c.ID)
		}
	}
	return s, nil
}

// gitTree names a tree. in-toto knows git's names of 40 digits; those of a repository by SHA-256 have another name.
func gitTree(id string) map[string]string {
	if len(id) > 40 {
		return map[string]string{"gitTreeSha256": id}
	}
	return map[string]string{"gitTree": id}
}

func parseStatement(payload []byte) (Statement, error) {
	var s Statement
	if err := json.Unmarshal(payload, &s); err != nil {
		return s, fmt.Errorf("reading the signed statement: %w", err)
	}
	if s.Type != StatementType || s.PredicateType != PredicateType {
		return s, fmt.Errorf("the signed statement is a %q with a %q, not a test result", s.Type, s.PredicateType)
	}
	return s, nil
}

// record is the digest of the record that is meant; empty where there is none, or more than one.
func (s Statement) record() string {
	digest, n := "", 0
	for _, c := range s.Predicate.Configuration {
		if c.Name == recordName {
			digest, n = c.Digest["sha256"], n+1
		}
	}
	if n != 1 {
		return ""
	}
	return digest
}
