package verdict

import "testing"

// A verdict by a configuration or a contract that somebody had to accept is not that of one that nobody had to.
func TestSameVerdictOfAnotherStandingIsAnother(t *testing.T) {
	plain := Record{Config: ConfigRef{Digest: "sha256:1", Source: ".trkr/config.json", Ref: "abc"}}
	moved, branch, accepted := plain, plain, plain
	moved.Config.Ref = "def"
	branch.Config.Ref = "abc, " + TrustedBranch
	accepted.Subject.ContractAccepted = AcceptedByPerson
	if !plain.SaysTheSame(moved) {
		t.Error("the same file of another commit is another verdict")
	}
	if plain.SaysTheSame(branch) || branch.SaysTheSame(plain) {
		t.Error("whose configuration it was makes no difference")
	}
	if plain.SaysTheSame(accepted) {
		t.Error("who accepted the contract makes no difference")
	}
}
