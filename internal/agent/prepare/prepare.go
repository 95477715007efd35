// SPDX-License-Identifier: Apache-2.0

// Package prepare makes a data directory fit for the game: it runs before the
// game, as the game's user, and refuses to start with a sentence that names
// what to change.
package prepare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/go-logr/logr"

	"github.com/spawnery/spawnery-operator/internal/agent/secret"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/gameconfig"
)

// maxFile bounds a file that is merged; none of the game's comes near it.
const maxFile = 16 << 20

// Config says what to prepare and from what.
type Config struct {
	Spec serverspec.Spec
	// RunDir is shared with the agent and nobody else.
	RunDir string
	// ForwardingDir holds the forwarding secret. Not read without forwarding.
	ForwardingDir string
	// OverlayDir holds the owner's ConfigMaps. Not read without an overlay.
	OverlayDir string
	// Variable looks an environment variable up, as os.LookupEnv does. Not
	// called for any that Spec.OverlayEnv does not list.
	Variable func(name string) (string, bool)
}

// Run writes the files of the server. Run again, it changes nothing.
func Run(ctx context.Context, cfg Config) error {
	secrets, err := collectSecrets(cfg)
	if err != nil {
		return err
	}
	overlays, err := collectOverlays(cfg)
	if err != nil {
		return err
	}
	files, err := gameconfig.Files(cfg.Spec, secrets, overlays)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(cfg.Spec.DataDir)
	if err != nil {
		return fmt.Errorf("opening the data directory: %w", err)
	}
	// Nothing is written through this handle.
	defer func() { _ = root.Close() }()
	dir := directory{root: root, spec: cfg.Spec}
	if err := dir.checkWritable(); err != nil {
		return err
	}
	for _, file := range files {
		written, err := dir.merge(file)
		if err != nil {
			return err
		}
		logr.FromContextOrDiscard(ctx).Info("prepared a file of the game", "path", path.Join(cfg.Spec.DataDir, file.Path), "changed", written)
	}
	return nil
}

func collectSecrets(cfg Config) (gameconfig.Secrets, error) {
	management, err := secret.MakeManagement(cfg.RunDir)
	if err != nil {
		return gameconfig.Secrets{}, err
	}
	secrets := gameconfig.Secrets{Management: management}
	if cfg.Spec.Forwarding == serverspec.ForwardingVelocity {
		forwarding, err := secret.ReadForwarding(cfg.ForwardingDir)
		if err != nil {
			return gameconfig.Secrets{}, err
		}
		secrets.Forwarding = string(forwarding[0])
	}
	return secrets, nil
}

// directory is the data directory of a server; nothing outside it is reached,
// whatever links the owner's files contain.
type directory struct {
	root *os.Root
	spec serverspec.Spec
}

// checkWritable makes a file and removes it: permissions alone do not tell,
// for a volume may be full, read-only, or on a server that squashes users.
func (d directory) checkWritable() error {
	const name = serverspec.OwnFiles + "write-test"
	err := d.write(name, []byte("x"), 0o664)
	if err == nil {
		err = d.root.Remove(name)
	}
	if err != nil {
		return d.blameVolume(err)
	}
	return nil
}

// blameVolume explains an error that the game would only stumble over.
func (d directory) blameVolume(err error) error {
	volume := d.spec.DataVolume
	if volume == "" {
		volume = "the volume there"
	}
	if !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the data directory %s cannot be written, look at %s: %w", d.spec.DataDir, volume, err)
	}
	return fmt.Errorf("the data directory %s cannot be written by user %d, group %d, and %s is the cause: "+
		"its storage ignores fsGroup, as NFS and hostPath do; change the owner there or set spec.server.user (%s): %w",
		d.spec.DataDir, os.Getuid(), os.Getgid(), volume, d.owner("."), err)
}

// blame explains an error about a file in a directory that can be written. The
// kubelet gives a volume to fsGroup by its root alone, so what was restored or
// copied into it may still be somebody else's.
func (d directory) blame(name string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	at := name
	for _, missing := d.root.Stat(at); missing != nil && at != "."; _, missing = d.root.Stat(at) {
		at = path.Dir(at)
	}
	return fmt.Errorf("user %d, group %d may not, and %s is why (%s): change its owner, or set spec.server.user: %w",
		os.Getuid(), os.Getgid(), path.Join(d.spec.DataDir, at), d.owner(at), err)
}

// merge brings one file to the content it must have and reports whether it
// had to be written.
func (d directory) merge(file gameconfig.File) (bool, error) {
	if file.Overlaid {
		if err := d.refuseLinks(file.Path); err != nil {
			return false, err
		}
	}
	existing, mode, err := d.read(file.Path)
	if err != nil {
		return false, fmt.Errorf("%s: reading it: %w", file.Path, d.blame(file.Path, err))
	}
	merged, err := file.Merge(existing)
	if err != nil {
		return false, err
	}
	if merged == nil || existing != nil && bytes.Equal(existing, merged) {
		return false, nil
	}
	if err := d.replace(file.Path, merged, mode); err != nil {
		if !errors.Is(err, fs.ErrPermission) {
			return false, fmt.Errorf("%s: writing it: %w", file.Path, d.blameVolume(err))
		}
		// A file is replaced, which is up to its directory.
		return false, fmt.Errorf("%s: writing it: %w", file.Path, d.blame(path.Dir(file.Path), err))
	}
	return true, nil
}

// read returns nil for a file that does not exist.
func (d directory) read(name string) ([]byte, fs.FileMode, error) {
	const fresh = 0o664
	// Without O_NONBLOCK a pipe would be waited at for a writer, for ever.
	file, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fresh, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("it is not a file")
	}
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	if content == nil {
		content = []byte{}
	}
	return content, info.Mode().Perm() | fresh, err
}

// replace puts a whole new file in place of the old one, so that a pod that is
// killed leaves one or the other. The mode lets game and agent write it.
func (d directory) replace(name string, content []byte, mode fs.FileMode) error {
	if parent := path.Dir(name); parent != "." {
		if err := d.root.MkdirAll(parent, 0o775); err != nil {
			return err
		}
	}
	temporary := name + serverspec.OwnFiles + "new"
	if err := d.write(temporary, content, mode); err != nil {
		return errors.Join(err, d.root.Remove(temporary))
	}
	return d.root.Rename(temporary, name)
}

// write makes a new file. What lies there is removed and not written to: it may
// be a link to something else, or a pipe that nobody reads.
func (d directory) write(name string, content []byte, mode fs.FileMode) error {
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
}

// owner says to whom a part of the data directory belongs, for a person.
func (d directory) owner(name string) string {
	info, err := d.root.Stat(name)
	if err != nil {
		return "owner unknown"
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "owner unknown"
	}
	return fmt.Sprintf("it belongs to user %d, group %d, mode %s", stat.Uid, stat.Gid, info.Mode().Perm())
}
