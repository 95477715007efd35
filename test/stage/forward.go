// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

// Forward reaches a port on the loopback address of a pod by kubectl
// port-forward, until ctx ends. It returns the address on this machine.
func (c *Cluster) Forward(ctx context.Context, pod string, port int) (string, error) {
	forward := c.command(ctx, "port-forward", "-n", Namespace, "pod/"+pod, fmt.Sprintf(":%d", port))
	output, err := forward.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("forward a port of %s: %w", pod, err)
	}
	if err := forward.Start(); err != nil {
		return "", fmt.Errorf("forward a port of %s: %w", pod, err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "Forwarding from "); ok {
			address, _, _ := strings.Cut(rest, " ")
			go func() {
				_, _ = io.Copy(io.Discard, output)
				_ = forward.Wait()
			}()
			return address, nil
		}
	}
	return "", fmt.Errorf("forward a port of %s: kubectl has ended: %w", pod, forward.Wait())
}
