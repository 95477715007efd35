// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// notOfAnImage are directories that a container adds to its image.
var notOfAnImage = []string{"/proc", "/sys", "/dev", "/spawnery"}

// open finds the directory of a layer, and follows links as far as they stay
// within what was mounted for it.
func open(layer serverspec.Layer) (*os.Root, error) {
	root, err := filepath.EvalSymlinks(layer.Root)
	if err != nil {
		return nil, err
	}
	found, err := filepath.EvalSymlinks(filepath.Join(root, layer.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no such directory")
	case err != nil:
		return nil, err
	}
	inside, err := filepath.Rel(root, found)
	if err != nil || !filepath.IsLocal(inside) || root == "/" && added(found) {
		return nil, fmt.Errorf("it is a link to %s, which is not in it", found)
	}
	info, err := os.Stat(found)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, errors.New("it is no directory: name the one that it lies in")
	}
	return os.OpenRoot(found)
}

func added(found string) bool {
	for _, place := range notOfAnImage {
		if found == place || strings.HasPrefix(found, place+"/") {
			return true
		}
	}
	return false
}

// directory is the data directory of a server; nothing outside it is reached,
// whatever links an earlier world has left in it.
type directory struct {
	*os.Root
	spec serverspec.Spec
}

// blameVolume explains an error of writing.
func (d directory) blameVolume(err error) error {
	volume := d.spec.DataVolume
	if volume == "" {
		volume = "the volume of the data directory"
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%s is full: raise spec.storage.size, or the space that pods have on a node: %w", volume, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s cannot be written by user %d, group %d: change the owner there, or set spec.server.user: %w",
			volume, os.Getuid(), os.Getgid(), err)
	}
	return fmt.Errorf("writing to %s: %w", volume, err)
}

// isLink tells a link that leads nowhere from what is not there.
func (d directory) isLink(name string) bool {
	info, err := d.Lstat(name)
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

// blameLink names the link on the way to name that an error comes from.
func (d directory) blameLink(name string, err error) error {
	at := ""
	for part := range strings.SplitSeq(name, "/") {
		at = path.Join(at, part)
		target, linkErr := d.Readlink(at)
		if linkErr != nil {
			continue
		}
		if _, statErr := d.Stat(at); statErr != nil {
			return fmt.Errorf("%s in the data directory is a link to %s, and leads out of it or nowhere: "+
				"remove it there: %w", at, target, err)
		}
	}
	return fmt.Errorf("%s in the data directory: %w", name, err)
}

// Install copies this program to a directory, for a container that has another
// image. It needs nothing of that image.
func Install(directory string) error {
	// The file that runs, by whatever name it was started.
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("reading the agent's program: %w", err)
	}
	defer func() { _ = from.Close() }()
	target := filepath.Join(directory, "agent")
	// A container that is started again finds the one before.
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("installing the agent's program: %w", err)
	}
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o555)
	if err != nil {
		return fmt.Errorf("installing the agent's program: %w", err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Chmod(0o555), to.Close()); err != nil {
		return fmt.Errorf("installing the agent's program: %w", err)
	}
	return nil
}
