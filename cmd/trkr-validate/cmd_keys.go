package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/attest"
	"github.com/trkr-dev/trkr-validate/internal/fault"
)

func (a *app) keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make keys that sign records",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "new FILE",
		Short: "Make a pair of keys: FILE is private, FILE.pub is for those who trust it",
		Long: `Make a pair of ed25519 keys: FILE (PKCS#8 in PEM, readable by its owner alone) signs records with
--sign-key FILE; FILE.pub goes into the folder that others name with --trusted-keys. Nothing is overwritten.`,
		Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.keysNew(args[0]) },
	})
	return cmd
}

func (a *app) keysNew(name string) error {
	private, public, err := attest.Generate()
	if err != nil {
		return err
	}
	key, err := attest.ParsePublic(name, public)
	if err != nil {
		return err
	}
	file := a.path(name)
	if err := writeKey(file, private, 0o600); err != nil {
		return err
	}
	if err := writeKey(file+".pub", public, 0o644); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	if a.json {
		return a.writeJSON(struct {
			SchemaVersion int    `json:"schemaVersion"`
			KeyID         string `json:"keyId"`
			Private       string `json:"private"`
			Public        string `json:"public"`
		}{1, key.ID, name, name + ".pub"})
	}
	say(a.err, "hint: ", "keep "+name+" out of every repository and away from builds")
	return a.printf("%s\n", key.ID)
}

func writeKey(name string, text []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return fault.Usage("key_exists", fmt.Errorf("making a key: %w", err), "name another file: a key that was lost cannot be made again")
	}
	if err != nil {
		return fault.Usage("key_unwritable", fmt.Errorf("making a key: %w", err))
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
