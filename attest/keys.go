package attest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
)

// Signer signs records. It is never printed.
type Signer struct {
	ID  string // of its public half
	key ed25519.PrivateKey
}

// Public is the public half of a Signer.
type Public struct {
	ID   string // "sha256:..." over its SubjectPublicKeyInfo
	Name string // as its owner calls it; for people
	key  ed25519.PublicKey
}

// Keys are those that somebody trusts.
type Keys []Public

const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"
)

// Generate makes a pair: PKCS#8 and SubjectPublicKeyInfo, both in PEM, as openssl reads and writes them.
func Generate() (private, public []byte, err error) {
	pub, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	spki, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: pkcs8}), pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: spki}), nil
}

// ParseSigner reads a private key, as Generate makes it. Errors hold nothing of it.
func ParseSigner(text []byte) (*Signer, error) {
	der, err := block(text, privateBlock)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("it is no ed25519 key in PKCS#8")
	}
	id, err := keyID(key.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	return &Signer{ID: id, key: key}, nil
}

// ParsePublic reads a public key, as Generate makes it.
func ParsePublic(name string, text []byte) (Public, error) {
	der, err := block(text, publicBlock)
	if err != nil {
		return Public{}, err
	}
	parsed, err := x509.ParsePKIXPublicKey(der)
	key, ok := parsed.(ed25519.PublicKey)
	if err != nil || !ok {
		return Public{}, errors.New("it is no ed25519 public key")
	}
	id, err := keyID(key)
	return Public{ID: id, Name: name, key: key}, err
}

// Public is the half that others may have.
func (s *Signer) Public() Public {
	return Public{ID: s.ID, key: s.key.Public().(ed25519.PublicKey)}
}

func block(text []byte, kind string) ([]byte, error) {
	b, rest := pem.Decode(text)
	if b == nil || b.Type != kind {
		return nil, fmt.Errorf("it holds no PEM block %q", kind)
	}
	if next, _ := pem.Decode(rest); next != nil {
		return nil, errors.New("it holds more than one key")
	}
	return b.Bytes, nil
}

func keyID(key ed25519.PublicKey) (string, error) {
	spki, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(spki)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
