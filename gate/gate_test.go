package gate

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/attest"
	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/verdict"
)

var (
	began = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	ours  = newSigner()
)

func newSigner() *attest.Signer {
	private, _, err := attest.Generate()
	if err == nil {
		var s *attest.Signer
		if s, err = attest.ParseSigner(private); err == nil {
			return s
		}
	}
	panic(err)
}

const agreed = "VAL-1: `tool` prints `hello`\nVAL-2: `tool` succeeds\n"

func parsed(t *testing.T, text string) contract.Contract {
	t.Helper()
	c, err := contract.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// honest is a clear record as a run writes it.
func honest(t *testing.T) verdict.Record {
	manifest := []verdict.Entry{{Path: "tool", Type: "file", Mode: 0o755, Size: 5, SHA256: strings.Repeat("ab", 32)}}
	r := verdict.Record{
		SchemaVersion: 1, Issue: "7", RunID: "r1", Outcome: verdict.Clear, Verdict: "CLEAR",
		Subject: verdict.Subject{
			Branch: "trkr/7", Commit: strings.Repeat("c0", 20), Tree: strings.Repeat("7e", 20), ContractDigest: parsed(t, agreed).Digest(), ContractSource: "commit",
			Manifest: manifest, ManifestDigest: artifact.Digest(manifest),
		},
		Build:       verdict.Build{Where: "container"},
		Environment: verdict.Environment{Engine: "docker", Image: "debian:12", ImageDigest: "sha256:1d"},
		Agents:      []verdict.Agent{{Name: "probe", Version: "1", Trust: "outside"}},
		Config:      verdict.ConfigRef{Digest: "sha256:cf", Source: ".trkr/config.json"},
		StartedAt:   began, Tool: verdict.Tool{Version: "v1"},
	}
	for _, a := range parsed(t, agreed).Assertions {
		r.Criteria = append(r.Criteria, verdict.Criterion{ID: a.ID, Text: a.Text, Status: verdict.Met, Evidence: "seen", By: "probe"})
	}
	return r
}

// there is what that record is bound to, an hour later.
func there(t *testing.T) Now {
	r := honest(t)
	return Now{
		Issue: "7", Tree: r.Subject.Tree, Contract: parsed(t, agreed), ConfigDigest: r.Config.Digest, Manifest: r.Subject.Manifest,
		ImageDigest: r.Environment.ImageDigest, Keys: attest.Keys{ours.Public()}, Time: began.Add(time.Hour), MaxAge: 24 * time.Hour,
	}
}

func signed(t *testing.T, r verdict.Record, by *attest.Signer) verdict.Record {
	t.Helper()
	envelope, err := by.Sign(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Attestation = envelope
	return r
}

func written(t *testing.T, r verdict.Record) []byte {
	t.Helper()
	text, err := r.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func reasons(j Judgement) []verdict.Reason {
	var out []verdict.Reason
	for _, r := range j.Refusals {
		if !slices.Contains(out, r.Reason) {
			out = append(out, r.Reason)
		}
	}
	return out
}

// lenient reads the first record that a file holds, whatever else it holds.
func lenient(file []byte) (r verdict.Record, err error) {
	_, body, _ := bytes.Cut(file, []byte("\n## Record\n\n```json\n"))
	return r, json.NewDecoder(bytes.NewReader(body)).Decode(&r)
}

// Each way to a clear verdict that was not earned is refused for its reason, and works without the one defence that is
// named.
func TestNobodyPassesWithAVerdictThatDoesNotCount(t *testing.T) {
	never := func(*judge) {}
	cheats := map[string]struct {
		file    func(t *testing.T) []byte
		now     func(n *Now)
		want    verdict.Reason
		says    string
		without []string
	}{
		"an old clear verdict on new code": {
			now: func(n *Now) { n.Tree = "fresh" }, want: verdict.RecordStale, says: `and the tree is "fresh"`, without: []string{"tree"},
		},
		"another branch's": {
			file: func(t *testing.T) []byte {
				r := honest(t)
				r.Subject.Branch, r.Subject.Tree = "trkr/7-b", "other"
				return written(t, signed(t, r, ours))
			},
			want: verdict.RecordStale, says: `about the tree "other"`, without: []string{"tree"},
		},
		"another issue's": {
			file: func(t *testing.T) []byte {
				r := honest(t)
				r.Issue = "8"
				return written(t, signed(t, r, ours))
			},
			want: verdict.RecordForeign, says: `about issue "8", not "7"`, without: []string{"issue"},
		},
		"an edited contract": {
			now:  func(n *Now) { n.Contract = parsed(t, "VAL-1: `tool` prints `hello`\nVAL-2: `tool` fails\n") },
			want: verdict.RecordStale, says: "and the contract says \"`tool` fails\"", without: []string{"contract"},
		},
		"a shorter contract was judged": {
			file: func(t *testing.T) []byte {
				r := honest(t)
				r.Criteria = r.Criteria[:1]
				return written(t, signed(t, r, ours))
			},
			want: verdict.RecordStale, says: "it does not judge VAL-2", without: []string{"contract"},
		},
		"another config": {
			now: func(n *Now) { n.ConfigDigest = "sha256:new" }, want: verdict.RecordStale, says: `and "sha256:new" is in force`, without: []string{"configuration"},
		},
		"the branch's own config": {
			file: func(t *testing.T) []byte {
				r := honest(t)
				r.Config.Ref = verdict.TrustedBranch
				return written(t, signed(t, r, ours))
			},
			want: verdict.RecordOwnConfig, says: "the ticket's branch decided", without: []string{"own configuration"},
		},
		"an edited outcome": {
			file: func(t *testing.T) []byte {
				r := honest(t)
				r.Criteria[1].Status, r.Outcome, r.ExitCode, r.Verdict = verdict.Unmet, verdict.Blocking, 1, "BLOCKING"
				return bytes.ReplaceAll(bytes.ReplaceAll(written(t, r), []byte(`"outcome": "blocking"`), []byte(`"outcome": "clear"`)), []byte(`"exitCode": 1`), []byte(`"exitCode": 0`))
			},
			want: verdict.RecordEdited, says: "line 1 of validation.md is", without: []string{"rendering", "outcome", "signature"},
		},
		"an edited outcome, written anew": {
			file: func(t *testing.T) []byte {
				r := honest(t)
				r.Criteria[1].Status = verdict.Unmet
				return written(t, signed(t, r, ours))
			},
			want: verdict.RecordContradicts, says: `its outcome is "clear"`, without: []string{"outcome"},
		},
		"an edited criterion in a signed record": {
			file: func(t *testing.T) []byte {
				r := honest(t)
				r.Criteria[1].Status, r.Outcome, r.ExitCode, r.Verdict = verdict.Unmet, verdict.Blocking, 1, "BLOCKING"
				r = signed(t, r, ours)
				r.Criteria[1].Status, r.Outcome, r.ExitCode, r.Verdict = verdict.Met, verdict.Clear, 0, "CLEAR"
				return written(t, r)
			},
			want: verdict.RecordUntrusted, says: "that of another record", without: []string{"signature"},
		},
		"a second record": {
			file: func(t *testing.T) []byte {
				other := honest(t)
				other.Criteria[1].Status, other.Outcome, other.ExitCode, other.Verdict = verdict.Unmet, verdict.Blocking, 1, "BLOCKING"
				return append(written(t, signed(t, honest(t), ours)), written(t, other)...)
			},
			want: verdict.RecordInvalid, says: "more than one record", without: []string{"parse", "rendering"},
		},
		"text added after the record": {
			file: func(t *testing.T) []byte {
				return append(written(t, signed(t, honest(t), ours)), "\nAll is well.\n"...)
			},
			want: verdict.RecordInvalid, says: "text follows its record", without: []string{"parse", "rendering"},
		},
		"text added outside the record": {
			file: func(t *testing.T) []byte {
				return bytes.Replace(written(t, signed(t, honest(t), ours)), []byte("\n## Criteria"), []byte("\nMerge it at once.\n\n## Criteria"), 1)
			},
			want: verdict.RecordEdited, says: `is "Merge it at once.", and its record makes "## Criteria" of it`, without: []string{"rendering"},
		},
		"a handwritten validation.md": {
			file: func(*testing.T) []byte { return []byte("# Validation of 7: clear\n\nAll good.\n") },
			want: verdict.RecordInvalid, says: "it has no record",
		},
		"a handwritten record": {
			file: func(t *testing.T) []byte { return written(t, honest(t)) },
			want: verdict.RecordUnsigned, says: "it is not signed", without: []string{"signature"},
		},
		"an unknown key": {
			file: func(t *testing.T) []byte { return written(t, signed(t, honest(t), newSigner())) },
			want: verdict.RecordUntrusted, says: "no trusted key made its signature: it names the key", without: []string{"signature"},
		},
		"an unknown key that calls itself a trusted one": {
			file: func(t *testing.T) []byte {
				r := signed(t, honest(t), newSigner())
				r.Attestation.Signatures[0].KeyID = ours.ID
				return written(t, r)
			},
			want: verdict.RecordUntrusted, says: "no trusted key", without: []string{"signature"},
		},
		"a signature moved to another record": {
			file: func(t *testing.T) []byte {
				old := honest(t)
				old.StartedAt = began.Add(-time.Hour)
				r := honest(t)
				r.Attestation = signed(t, old, ours).Attestation
				return written(t, r)
			},
			want: verdict.RecordUntrusted, says: "that of another record", without: []string{"signature"},
		},
		"changes that were never committed": {
			file: func(t *testing.T) []byte {
				r := honest(t)
				r.Subject.Dirty = true
				return written(t, signed(t, r, ours))
			},
			want: verdict.RecordDirty, says: "not in commit", without: []string{"dirty"},
		},
		"an agent inside the box": {
			file: func(t *testing.T) []byte {
				r := honest(t)
				r.Agents[0].Trust = "inside"
				return written(t, signed(t, r, ours))
			},
			want: verdict.RecordInside, says: `the agent "probe" judged from inside`, without: []string{"agents"},
		},
		"an agent from nowhere": {
			file: func(t *testing.T) []byte {
				r := honest(t)
				r.Agents[0].Trust = "above"
				return written(t, signed(t, r, ours))
			},
			want: verdict.RecordContradicts, says: `stood "above"`, without: []string{"agents"},
		},
		"an expired verdict": {
			now: func(n *Now) { n.MaxAge = time.Minute }, want: verdict.RecordExpired, says: "1h0m0s ago, and 1m0s is the most", without: []string{"age"},
		},
		"a verdict of tomorrow": {
			now: func(n *Now) { n.Time = began.Add(-time.Hour) }, want: verdict.RecordExpired, says: "has not come yet", without: []string{"age"},
		},
		"another artifact": {
			now: func(n *Now) {
				n.Manifest = []verdict.Entry{{Path: "tool", Type: "file", Size: 6}, {Path: "more", Type: "file"}}
			},
			want: verdict.RecordStale, says: `"tool" is another one, "more" is new`, without: []string{"artifacts"},
		},
		"another image": {
			now: func(n *Now) { n.ImageDigest = "sha256:2d" }, want: verdict.RecordStale, says: `and "debian:12" is "sha256:2d" now`, without: []string{"image"},
		},
		"a manifest that is not the one that was sealed": {
			file: func(t *testing.T) []byte {
				r := honest(t)
				r.Subject.Manifest = append(r.Subject.Manifest, verdict.Entry{Path: "x", Type: "file"})
				return written(t, signed(t, r, ours))
			},
			now:  func(n *Now) { n.Manifest = nil },
			want: verdict.RecordContradicts, says: "its manifest has the digest", without: []string{"run"},
		},
		"a verdict that nobody gave": {
			file: func(t *testing.T) []byte {
				r := honest(t)
				r.Agents = nil
				return written(t, signed(t, r, ours))
			},
			want: verdict.RecordContradicts, says: "who is none of its agents", without: []string{"run"},
		},
	}
	for _, reason := range gateReasons(t) {
		if reason == verdict.RecordMissing {
			continue // there is no file to judge
		}
		tried := false
		for _, x := range cheats {
			tried = tried || x.want == reason
		}
		if !tried {
			t.Errorf("nothing is refused for %s", reason)
		}
	}
	for name, x := range cheats {
		t.Run(name, func(t *testing.T) {
			file, now := written(t, signed(t, honest(t), ours)), there(t)
			if x.file != nil {
				file = x.file(t)
			}
			if x.now != nil {
				x.now(&now)
			}
			j := Judge(file, now)
			if !slices.Contains(reasons(j), x.want) {
				t.Errorf("refused for %v, want %s", reasons(j), x.want)
			}
			if said := refusalText(j); !strings.Contains(said, x.says) {
				t.Errorf("it says:\n%s\nwant %q", said, x.says)
			}
			if x.without == nil {
				return // there is nothing to take away: nothing can be read
			}
			parse, by := verdict.ParseMarkdown, slices.Clone(checks)
			for _, name := range x.without {
				if name == "parse" {
					parse = lenient
					continue
				}
				i := slices.IndexFunc(by, func(c check) bool { return c.name == name })
				by[i].do = never
			}
			if j := judgeBy(file, now, parse, by); len(j.Refusals) > 0 || j.Record.Outcome != verdict.Clear {
				t.Errorf("without %v it is still refused, so another defence is meant: %s", x.without, refusalText(j))
			}
			for _, left := range x.without { // each of them alone would do
				if left == "parse" || len(x.without) == 1 {
					continue
				}
				one := slices.Clone(by)
				i := slices.IndexFunc(checks, func(c check) bool { return c.name == left })
				one[i] = checks[i]
				if j := judgeBy(file, now, parse, one); len(j.Refusals) == 0 {
					t.Errorf("%s alone does not keep it out", left)
				}
			}
		})
	}
}

// gateReasons are those that package verdict has for the gate.
func gateReasons(t *testing.T) (all []verdict.Reason) {
	t.Helper()
	text, err := os.ReadFile("../verdict/verdict.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"(record_[a-z_]+)"`).FindAllStringSubmatch(string(text), -1) {
		all = append(all, verdict.Reason(m[1]))
	}
	if len(all) < 12 {
		t.Fatalf("only %d reasons were read", len(all))
	}
	return all
}

func refusalText(j Judgement) string {
	var lines []string
	for _, r := range j.Refusals {
		lines = append(lines, r.Error())
	}
	return strings.Join(lines, "\n")
}

func TestAVerdictThatCountsCounts(t *testing.T) {
	for name, x := range map[string]struct {
		record func(r *verdict.Record)
		now    func(n *Now)
	}{
		"as it was written":            {},
		"recorded from another commit": {record: func(r *verdict.Record) { r.Subject.Commit = "before the rebase" }},
		"of a branch that was renamed": {record: func(r *verdict.Record) { r.Subject.Branch = "elsewhere" }},
		"a contract that was accepted": {record: func(r *verdict.Record) { r.Subject.ContractAccepted = verdict.AcceptedByPerson }},
		"with a note": {record: func(r *verdict.Record) {
			r.Findings = []verdict.Finding{{ID: "F-1", Severity: verdict.SeverityNote, Text: "x"}}
		}},
		"the branch's config, accepted":   {record: func(r *verdict.Record) { r.Config.Ref = verdict.TrustedBranch }, now: func(n *Now) { n.OwnConfig = true }},
		"an inside agent that is trusted": {record: func(r *verdict.Record) { r.Agents[0].Trust = "inside" }, now: func(n *Now) { n.Inside = true }},
		"however old, where none is said": {now: func(n *Now) { n.Time, n.MaxAge = began.AddDate(9, 0, 0), 0 }},
		"by a clock that is a bit ahead":  {now: func(n *Now) { n.Time = began.Add(-time.Minute) }},
		"artifacts not built again":       {now: func(n *Now) { n.Manifest = nil }},
		"an image that cannot be told":    {now: func(n *Now) { n.ImageDigest = "" }},
		"bytes that are no UTF-8":         {record: func(r *verdict.Record) { r.Criteria[0].Evidence = "a\xffb" }},
		"one key among several":           {now: func(n *Now) { n.Keys = attest.Keys{newSigner().Public(), ours.Public()} }},
	} {
		t.Run(name, func(t *testing.T) {
			r, now := honest(t), there(t)
			if x.record != nil {
				x.record(&r)
			}
			if x.now != nil {
				x.now(&now)
			}
			j := Judge(written(t, signed(t, r, ours)), now)
			if len(j.Refusals) > 0 || j.SignedBy != ours.ID || j.Record.Outcome != verdict.Clear {
				t.Errorf("signed by %q: %s", j.SignedBy, refusalText(j))
			}
		})
	}
}

func TestAVerdictThatIsNotClearCountsAsItIs(t *testing.T) {
	r := honest(t)
	r.Criteria[0].Status, r.Outcome, r.ExitCode, r.Verdict = verdict.Unverified, verdict.Incomplete, 3, ""
	j := Judge(written(t, signed(t, r, ours)), there(t))
	if len(j.Refusals) > 0 || j.Record.Outcome != verdict.Incomplete {
		t.Errorf("%+v", j)
	}
}

// Whoever trusts no keys is told what that means, and whatever else was not compared.
func TestWhatWasNotComparedIsSaid(t *testing.T) {
	now := there(t)
	now.Keys, now.Manifest, now.ImageDigest = nil, nil, ""
	j := Judge(written(t, honest(t)), now)
	said := strings.Join(j.Unchecked, "\n")
	for _, want := range []string{"artifacts: --rebuild", `image: nothing tells here which one "debian:12" is`, "bookkeeping, not a gate"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said:\n%s", want, said)
		}
	}
	if len(j.Refusals) > 0 || len(j.Unchecked) != 3 {
		t.Errorf("%+v", j)
	}
}

func FuzzJudgeTakesNothingUnsigned(f *testing.F) {
	f.Add([]byte("# Validation\n\n## Record\n\n```json\n{\"schemaVersion\":1}\n```\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if j := Judge(file, there(t)); len(j.Refusals) == 0 {
			t.Errorf("it counts, and nobody signed it: %s", file)
		}
	})
}
