package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/attest"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func (a *app) attestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "attest",
		Short: "Verify signatures of records",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	keys := ""
	verify := &cobra.Command{
		Use:   "verify FILE --trusted-keys DIR",
		Short: "Tell whether a trusted key signed what a file says",
		Long: `Tell whether a trusted key signed what a file says. FILE is a validation.md, a run folder's record.json, or its
attestation.json: of that alone the signature is verified, and what was signed is printed.

This does not compare the record with any code: gate does.

Exit codes: 0 where a trusted key signed it, else 4.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.attestVerify(cmd, keys, args[0]) },
	}
	verify.Flags().StringVar(&keys, "trusted-keys", "", "a `folder` of public keys (*.pub), or REV:DIR as committed")
	cmd.AddCommand(verify)
	return cmd
}

func (a *app) attestVerify(cmd *cobra.Command, folder, name string) error {
	if folder == "" {
		return usage(cmd, errors.New("--trusted-keys says whose signature counts"))
	}
	keys, err := a.trusted(cmd.Context(), folder, nil)
	if err != nil {
		return err
	}
	text, err := readWhole(a.path(name), 16<<20)
	if err != nil {
		return fault.Usage("file_unreadable", err, "name a validation.md, a record.json or an attestation.json")
	}
	envelope, record, err := signedIn(text)
	if err != nil {
		return &verdict.Refusal{Reason: verdict.RecordInvalid, Detail: fmt.Sprintf("%s: %v", name, err)}
	}
	if record != nil {
		_, err = keys.Check(*record)
	}
	var statement attest.Statement
	var key attest.Public
	if err == nil {
		statement, key, err = keys.Open(*envelope)
	}
	switch {
	case errors.Is(err, attest.ErrUnsigned):
		return &verdict.Refusal{Reason: verdict.RecordUnsigned, Detail: fmt.Sprintf("%s: %v", name, err)}
	case err != nil:
		return &verdict.Refusal{Reason: verdict.RecordUntrusted, Detail: fmt.Sprintf("%s: %v", name, err)}
	}
	if a.json {
		return a.writeJSON(struct {
			SchemaVersion int              `json:"schemaVersion"`
			KeyID         string           `json:"keyId"`
			Key           string           `json:"key"`
			Statement     attest.Statement `json:"statement"`
		}{1, key.ID, key.Name, statement})
	}
	var b strings.Builder
	say(&b, "signed by   ", fmt.Sprintf("%s (%s)", key.ID, key.Name))
	say(&b, "result      ", statement.Predicate.Result)
	for _, s := range statement.Subject {
		say(&b, "subject     ", resource(s))
	}
	for _, c := range statement.Predicate.Configuration {
		say(&b, "with        ", resource(c))
	}
	return a.printf("%s", b.String())
}

func resource(r attest.Resource) string {
	line := r.Name
	for algorithm, hex := range r.Digest { // one, as we write them
		line += " " + algorithm + ":" + hex
	}
	for _, key := range []string{"issue", "outcome", "commit", "build"} {
		if v, ok := r.Annotations[key]; ok {
			line += fmt.Sprintf(" %s=%s", key, v)
		}
	}
	return line
}

// signedIn finds the envelope in a file, and the record that it belongs to; nil where the file is an envelope alone.
func signedIn(text []byte) (*verdict.Envelope, *verdict.Record, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		record, err := verdict.ParseMarkdown(text)
		if err != nil {
			return nil, nil, err
		}
		again, err := record.Markdown()
		if err == nil && !bytes.Equal(again, text) {
			err = errors.New("it is not what its record is written as: somebody edited it")
		}
		return record.Attestation, &record, err
	}
	var either struct {
		verdict.Envelope
		SchemaVersion int `json:"schemaVersion"`
	}
	if err := json.Unmarshal(text, &either); err != nil {
		return nil, nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if either.SchemaVersion == 0 {
		return &either.Envelope, nil, nil
	}
	record, err := verdict.ParseRecord(text)
	return record.Attestation, &record, err
}
