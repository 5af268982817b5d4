// Package attest signs records and tells whose signature a record carries: an in-toto Statement with the test-result
// predicate in a DSSE envelope, by ed25519. It is pure: keys come as bytes.
package attest

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// PayloadType of the envelope.
const PayloadType = "application/vnd.in-toto+json"

var (
	// ErrUnsigned says that a record carries no signature.
	ErrUnsigned = errors.New("it is not signed")
	// ErrUnknownKey says that none of the trusted keys made a signature.
	ErrUnknownKey = errors.New("no trusted key made its signature")
	// ErrOtherRecord says that a trusted key signed another record.
	ErrOtherRecord = errors.New("its signature is that of another record")
)

// Sign gives the envelope of what a record says. A signature that it carries already does not count.
func (s *Signer) Sign(r verdict.Record) (*verdict.Envelope, error) {
	statement, err := StatementOf(r)
	if err != nil {
		return nil, fmt.Errorf("signing the record: %w", err)
	}
	payload, err := json.Marshal(statement)
	if err != nil {
		return nil, fmt.Errorf("signing the record: %w", err)
	}
	return &verdict.Envelope{
		PayloadType: PayloadType, Payload: base64.StdEncoding.EncodeToString(payload),
		Signatures: []verdict.Signature{{KeyID: s.ID, Sig: base64.StdEncoding.EncodeToString(ed25519.Sign(s.key, preAuth(PayloadType, payload)))}},
	}, nil
}

// preAuth is what DSSE signs: type and payload, each with its length in front, so that neither can be taken for a part
// of the other.
func preAuth(kind string, payload []byte) []byte {
	head := "DSSEv1 " + strconv.Itoa(len(kind)) + " " + kind + " " + strconv.Itoa(len(payload)) + " "
	return append([]byte(head), payload...)
}

// Open gives the statement of an envelope and the trusted key that signed it. The key that a signature names does not
// count: each is tried. The error is ErrUnknownKey where none made any of the signatures.
func (k Keys) Open(e verdict.Envelope) (Statement, Public, error) {
	if e.PayloadType != PayloadType {
		return Statement{}, Public{}, fmt.Errorf("the payload is of type %q, not %q", e.PayloadType, PayloadType)
	}
	payload, err := decode(e.Payload)
	if err != nil {
		return Statement{}, Public{}, fmt.Errorf("reading the payload: %w", err)
	}
	signed := preAuth(e.PayloadType, payload)
	for _, s := range e.Signatures {
		sig, err := decode(s.Sig)
		if err != nil {
			continue
		}
		for _, key := range k {
			if ed25519.Verify(key.key, signed, sig) {
				statement, err := parseStatement(payload)
				return statement, key, err
			}
		}
	}
	return Statement{}, Public{}, ErrUnknownKey
}

// Check gives the trusted key that signed what a record says. The error is ErrUnsigned, ErrUnknownKey, ErrOtherRecord,
// or says what is wrong with the envelope.
func (k Keys) Check(r verdict.Record) (Public, error) {
	if r.Attestation == nil {
		return Public{}, ErrUnsigned
	}
	statement, key, err := k.Open(*r.Attestation)
	if err != nil {
		return Public{}, err
	}
	digest, err := r.Digest()
	if err != nil {
		return Public{}, err
	}
	if statement.record() != digest {
		return Public{}, ErrOtherRecord
	}
	return key, nil
}

// decode reads base64 of either alphabet, as DSSE asks of those who verify.
func decode(s string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		data, err = base64.URLEncoding.DecodeString(s)
	}
	return data, err
}
