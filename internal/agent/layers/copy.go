// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// How often a person who waits is told how far it is.
const (
	tellFiles = 1000
	tellBytes = 256 << 20
)

// copying is the way of one layer to the data directory.
type copying struct {
	*job

	number int
	mode   serverspec.LayerMode
	tree   *os.Root
	log    logr.Logger

	copied, left int
	bytes, told  int64
}

// visit copies one entry of the layer aside, where it is to come.
func (c *copying) visit(ctx context.Context, name string, entry fs.DirEntry, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted: %w", context.Cause(ctx))
	case name == lostAndFound || name == staging:
		return skip(entry)
	case err != nil:
		return unreadable(name, err)
	case name == ".":
		return nil
	case entry.IsDir():
		return c.directory(name)
	case c.laterHas(name):
		return nil
	}
	if entry.Type().IsRegular() {
		return c.file(name)
	}
	if entry.Type() == fs.ModeSymlink {
		return c.link(name)
	}
	c.log.Info("left out what is neither file, directory nor link", "path", name, "mode", entry.Type().String())
	return nil
}

// skip leaves out an entry and what is below it.
func skip(entry fs.DirEntry) error {
	if entry != nil && entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func unreadable(name string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s cannot be read by user %d, group %d: change its mode in the layer, or set spec.server.user: %w",
			name, os.Getuid(), os.Getgid(), err)
	}
	return fmt.Errorf("%s cannot be read: %w", name, err)
}

// laterHas is true for what a later layer has under the same name: its own is
// taken, whatever the modes are.
func (c *copying) laterHas(name string) bool {
	for _, later := range c.trees[c.number+1:] {
		if _, err := later.Lstat(name); err == nil {
			return true
		}
	}
	return false
}

// directory comes also when it is empty: a game may look for it.
func (c *copying) directory(name string) error {
	for _, later := range c.trees[c.number+1:] {
		if info, err := later.Lstat(name); err == nil && !info.IsDir() {
			return fs.SkipDir
		}
	}
	info, err := c.data.Stat(name)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is a directory in the layer, and none in the data directory: remove it there", name)
	case err != nil && (!errors.Is(err, fs.ErrNotExist) || c.data.isLink(name)):
		return c.data.blameLink(name, err)
	}
	err = c.data.Mkdir(path.Join(staging, name), 0o775)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return c.data.blameVolume(err)
	}
	return nil
}

// wanted says whether an entry is to be copied over what is there.
func (c *copying) wanted(name string, same func(fs.FileInfo) bool) (bool, error) {
	info, err := c.data.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, c.data.blameLink(name, err)
	case c.mode == serverspec.LayerIfMissing:
	case info.IsDir():
		return false, fmt.Errorf("%s is no directory in the layer, and one in the data directory: remove it there", name)
	case !same(info):
		return true, nil
	}
	c.left++
	return false, nil
}

// link is copied as a link when it stays in the layer. What it leads to outside
// would be another file here, or none.
func (c *copying) link(name string) error {
	target, err := c.tree.Readlink(name)
	if err != nil {
		return unreadable(name, err)
	}
	if path.IsAbs(target) || !filepath.IsLocal(path.Join(path.Dir(name), target)) {
		return fmt.Errorf("%s is a link to %s, which leads out of the layer: put the file itself there", name, target)
	}
	wanted, err := c.wanted(name, func(fs.FileInfo) bool {
		there, err := c.data.Readlink(name)
		return err == nil && there == target
	})
	if !wanted || err != nil {
		return err
	}
	if err := c.data.Symlink(target, path.Join(staging, name)); err != nil {
		return c.data.blameVolume(err)
	}
	c.tell(0)
	return nil
}

// file copies one file. Of several hard links each becomes a file of its own.
func (c *copying) file(name string) error {
	// Without O_NONBLOCK a pipe that took the file's place would be waited at.
	from, err := c.tree.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return unreadable(name, err)
	}
	defer func() { _ = from.Close() }()
	info, err := from.Stat()
	if err != nil {
		return unreadable(name, err)
	}
	mode := modeOf(info)
	wanted, err := c.wanted(name, func(there fs.FileInfo) bool {
		return there.Mode() == mode && there.Size() == info.Size() && c.sameContent(name, from)
	})
	if !wanted || err != nil {
		return err
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return unreadable(name, err)
	}
	size, err := c.write(path.Join(staging, name), from, mode)
	if err != nil {
		return fmt.Errorf("%s: %w", name, c.data.blameVolume(err))
	}
	// A time is worth nothing to a game, and some file systems keep none.
	_ = c.data.Chtimes(path.Join(staging, name), info.ModTime(), info.ModTime())
	c.tell(size)
	return nil
}

// modeOf lets game and agent write a file, and keeps what else its owner said.
func modeOf(info fs.FileInfo) fs.FileMode { return info.Mode().Perm() | 0o660 }

func (c *copying) write(name string, from io.Reader, mode fs.FileMode) (int64, error) {
	file, err := c.data.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return 0, err
	}
	size, err := io.Copy(file, from)
	err = errors.Join(err, file.Chmod(mode))
	if c.spec.Ordinal != nil {
		// Half a file that a node lost would be there, and so never be missing.
		err = errors.Join(err, file.Sync())
	}
	return size, errors.Join(err, file.Close())
}

// sameContent compares a file of the data directory with one of the same size.
func (c *copying) sameContent(name string, with io.Reader) bool {
	there, err := c.data.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = there.Close() }()
	const chunk = 64 << 10
	is, was := bufio.NewReaderSize(with, chunk), bufio.NewReaderSize(there, chunk)
	for {
		a, errA := is.Peek(chunk)
		b, errB := was.Peek(chunk)
		if !bytes.Equal(a, b) {
			return false
		}
		if errA != nil || errB != nil {
			return errors.Is(errA, io.EOF) && errors.Is(errB, io.EOF)
		}
		_, _ = is.Discard(len(a)) // it is in the buffer
		_, _ = was.Discard(len(b))
	}
}

func (c *copying) tell(size int64) {
	c.copied++
	c.bytes += size
	if c.copied%tellFiles == 0 || c.bytes-c.told >= tellBytes {
		c.told = c.bytes
		c.log.Info("copying a layer", "files", c.copied, "bytes", c.bytes)
	}
}
