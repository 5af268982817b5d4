package attest

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	testresult "github.com/in-toto/attestation/go/predicates/test_result/v0"
	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/trkr-dev/trkr-validate/verdict"
)

func sample() verdict.Record {
	return verdict.Record{
		SchemaVersion: 1, Issue: "7", RunID: "r1", Outcome: verdict.Blocking, ExitCode: 1, Verdict: "BLOCKING",
		Criteria: []verdict.Criterion{
			{ID: "VAL-1", Text: "one", Status: verdict.Met, Evidence: "seen \xff", By: "probe"},
			{ID: "VAL-2", Text: "two", Status: verdict.Unmet, Evidence: "not", By: "probe"},
			{ID: "VAL-3", Text: "three", Status: verdict.Blocked},
		},
		Subject: verdict.Subject{
			Commit: strings.Repeat("c0", 20), Tree: strings.Repeat("7e", 20), ContractDigest: "sha256:" + strings.Repeat("01", 32),
			Manifest: []verdict.Entry{
				{Path: "dist", Type: "dir", Mode: 0o755}, {Path: "dist/tool", Type: "file", Mode: 0o755, Size: 3, SHA256: strings.Repeat("ab", 32)},
				{Path: "dist/link", Type: "link", Target: "tool"},
			},
		},
		Build:       verdict.Build{Where: "host"},
		Environment: verdict.Environment{Image: "debian:12", ImageDigest: "sha256:" + strings.Repeat("02", 32)},
		Config:      verdict.ConfigRef{Digest: "sha256:" + strings.Repeat("03", 32)},
		StartedAt:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

func signer(t *testing.T) *Signer {
	t.Helper()
	private, _, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sign(t *testing.T, s *Signer, r verdict.Record) verdict.Envelope {
	t.Helper()
	e, err := s.Sign(r)
	if err != nil {
		t.Fatal(err)
	}
	return *e
}

// theirs verifies as somebody does who knows nothing of this program.
type theirs struct{ of Public }

func (v theirs) KeyID() (string, error)   { return v.of.ID, nil }
func (v theirs) Public() crypto.PublicKey { return v.of.key }
func (v theirs) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(v.of.key, data, sig) {
		return errors.New("it does not verify")
	}
	return nil
}

// The envelope is DSSE by securesystemslib, and what is in it an in-toto test result by in-toto's own library.
func TestOthersReadWhatWasSigned(t *testing.T) {
	s := signer(t)
	raw, err := json.Marshal(sign(t, s, sample()))
	if err != nil {
		t.Fatal(err)
	}
	var e dsse.Envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	verifier, err := dsse.NewEnvelopeVerifier(theirs{s.Public()})
	if err != nil {
		t.Fatal(err)
	}
	accepted, payload, err := verifier.VerifyAndDecode(t.Context(), &e)
	if err != nil || len(accepted) != 1 || e.PayloadType != "application/vnd.in-toto+json" {
		t.Fatalf("%v, %d accepted, a %q", err, len(accepted), e.PayloadType)
	}
	var statement intoto.Statement
	if err := protojson.Unmarshal(payload, &statement); err != nil {
		t.Fatal(err)
	}
	if err := statement.Validate(); err != nil {
		t.Error(err)
	}
	if statement.GetPredicateType() != "https://in-toto.io/attestation/test-result/v0.1" {
		t.Errorf("a predicate %q", statement.GetPredicateType())
	}
	body, err := protojson.Marshal(statement.GetPredicate())
	if err != nil {
		t.Fatal(err)
	}
	var result testresult.TestResult
	if err := protojson.Unmarshal(body, &result); err != nil {
		t.Fatal(err)
	}
	if result.GetResult() != "FAILED" || !slices.Equal(result.GetPassedTests(), []string{"VAL-1"}) ||
		!slices.Equal(result.GetFailedTests(), []string{"VAL-2"}) || !slices.Equal(result.GetWarnedTests(), []string{"VAL-3"}) {
		t.Errorf("%v", &result)
	}
	var subjects, configuration []string
	for _, r := range statement.GetSubject() {
		subjects = append(subjects, r.GetName())
	}
	for _, r := range result.GetConfiguration() {
		if err := r.Validate(); err != nil {
			t.Error(err)
		}
		configuration = append(configuration, r.GetName())
	}
	if !slices.Equal(subjects, []string{"tree", "dist/tool"}) || !slices.Equal(configuration, []string{"record", "contract", "config", "image"}) {
		t.Errorf("subjects %v, configuration %v", subjects, configuration)
	}
	if statement.GetSubject()[0].GetDigest()["gitTree"] != sample().Subject.Tree {
		t.Errorf("%v", statement.GetSubject()[0])
	}
}

// And the other way round: what securesystemslib signs is opened here.
func TestWhatOthersSignIsOpened(t *testing.T) {
	s := signer(t)
	statement, err := StatementOf(sample())
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(statement)
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := dsse.NewEnvelopeSigner(signing{s})
	if err != nil {
		t.Fatal(err)
	}
	e, err := envelope.SignPayload(t.Context(), PayloadType, payload)
	if err != nil {
		t.Fatal(err)
	}
	r := sample()
	r.Attestation = &verdict.Envelope{PayloadType: e.PayloadType, Payload: e.Payload, Signatures: []verdict.Signature{{KeyID: e.Signatures[0].KeyID, Sig: e.Signatures[0].Sig}}}
	if key, err := (Keys{s.Public()}).Check(r); err != nil || key.ID != s.ID {
		t.Errorf("%v by %q", err, key.ID)
	}
}

type signing struct{ *Signer }

func (s signing) KeyID() (string, error) { return s.ID, nil }
func (s signing) Sign(_ context.Context, data []byte) ([]byte, error) {
	return ed25519.Sign(s.key, data), nil
}

func TestASignatureCountsForItsRecordAlone(t *testing.T) {
	s := signer(t)
	keys := Keys{signer(t).Public(), s.Public()}
	r := sample()
	e := sign(t, s, r)
	r.Attestation = &e
	if key, err := keys.Check(r); err != nil || key.ID != s.ID {
		t.Fatalf("%v by %q", err, key.ID)
	}
	text, err := r.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	again, err := verdict.ParseMarkdown(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Check(again); err != nil {
		t.Errorf("read back from validation.md: %v", err)
	}
	for name, change := range map[string]func(r *verdict.Record){
		"outcome":  func(r *verdict.Record) { r.Outcome = verdict.Clear },
		"evidence": func(r *verdict.Record) { r.Criteria[0].Evidence += "!" },
		"issue":    func(r *verdict.Record) { r.Issue = "8" },
		"time":     func(r *verdict.Record) { r.StartedAt = r.StartedAt.Add(time.Second) },
		"artifact": func(r *verdict.Record) { r.Subject.Manifest[1].Mode = 0o4755 },
		"build":    func(r *verdict.Record) { r.Build.Where = "container" },
		"note":     func(r *verdict.Record) { r.Findings = append(r.Findings, verdict.Finding{ID: "F"}) },
	} {
		other := sample()
		other.Attestation = &e
		change(&other)
		if _, err := keys.Check(other); !errors.Is(err, ErrOtherRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsNoTrustedSignatureIsNone(t *testing.T) {
	s := signer(t)
	good := sign(t, s, sample())
	payload, err := base64.StdEncoding.DecodeString(good.Payload)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(e *verdict.Envelope){
		"no signature":    func(e *verdict.Envelope) { e.Signatures = nil },
		"no base64":       func(e *verdict.Envelope) { e.Signatures[0].Sig = "?" },
		"another payload": func(e *verdict.Envelope) { e.Payload = base64.StdEncoding.EncodeToString(append(payload, ' ')) },
		"payload no text": func(e *verdict.Envelope) { e.Payload = "?" },
		"another type":    func(e *verdict.Envelope) { e.PayloadType = "text/plain" },
		"somebody's key":  func(e *verdict.Envelope) { *e = sign(t, signer(t), sample()) },
		"a short one":     func(e *verdict.Envelope) { e.Signatures[0].Sig = "AAAA" },
		"no test result": func(e *verdict.Envelope) {
			*e = raw(s, `{"_type":"https://in-toto.io/Statement/v1","predicateType":"x"}`)
		},
		"no JSON": func(e *verdict.Envelope) { *e = raw(s, `x`) },
		"no record": func(e *verdict.Envelope) {
			*e = raw(s, `{"_type":"`+StatementType+`","predicateType":"`+PredicateType+`"}`)
		},
		"the record twice": func(e *verdict.Envelope) { *e = twice(t, s) },
	} {
		r := sample()
		e := good
		e.Signatures = slices.Clone(good.Signatures)
		change(&e)
		r.Attestation = &e
		if key, err := (Keys{s.Public()}).Check(r); err == nil {
			t.Errorf("%s: it counts as signed by %q", name, key.ID)
		}
	}
	if _, err := (Keys{}).Check(sample()); !errors.Is(err, ErrUnsigned) {
		t.Errorf("%v", err)
	}
}

// raw signs any payload: a key that is trusted may have signed other things.
func raw(s *Signer, payload string) verdict.Envelope {
	return verdict.Envelope{PayloadType: PayloadType, Payload: base64.StdEncoding.EncodeToString([]byte(payload)), Signatures: []verdict.Signature{
		{Sig: base64.StdEncoding.EncodeToString(ed25519.Sign(s.key, preAuth(PayloadType, []byte(payload))))},
	}}
}

func twice(t *testing.T, s *Signer) verdict.Envelope {
	statement, err := StatementOf(sample())
	if err != nil {
		t.Fatal(err)
	}
	c := statement.Predicate.Configuration
	statement.Predicate.Configuration = append(c, c[0])
	payload, err := json.Marshal(statement)
	if err != nil {
		t.Fatal(err)
	}
	return raw(s, string(payload))
}

func TestKeysAreRead(t *testing.T) {
	private, public, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParsePublic("a.pub", public)
	if err != nil || p.ID != s.ID || p.Name != "a.pub" || !strings.HasPrefix(p.ID, "sha256:") {
		t.Errorf("%v %+v", err, p)
	}
	for name, text := range map[string][]byte{
		"empty": nil, "public": public, "text": []byte("x"), "two": append(slices.Clone(private), private...),
		"damaged": []byte(strings.Replace(string(private), "M", "?", 2)), "empty block": []byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"),
	} {
		if _, err := ParseSigner(text); err == nil {
			t.Errorf("%s is read as a private key", name)
		}
	}
	for name, text := range map[string][]byte{"empty": nil, "private": private, "two": append(slices.Clone(public), public...)} {
		if _, err := ParsePublic("x", text); err == nil {
			t.Errorf("%s is read as a public key", name)
		}
	}
}

// A key is what openssl calls one: made there, read here.
func TestKeysOfOpenssl(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("there is no openssl here")
	}
	file := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command(openssl, "genpkey", "-algorithm", "ed25519", "-out", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	private, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	public, err := exec.Command(openssl, "pkey", "-in", file, "-pubout").Output()
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := ParsePublic("x", public); err != nil || p.ID != s.ID {
		t.Errorf("%v, %q is not %q", err, p.ID, s.ID)
	}
}
