// SPDX-License-Identifier: Apache-2.0

package login

import (
	"errors"
	"strings"
	"testing"
)

func FuzzReadProfile(f *testing.F) {
	f.Add(`{"id":"`+adasID+`","name":"Ada","properties":[{"name":"textures","value":"e30=","signature":"x"}]}`, "Ada")
	f.Add(`{"id":"069a79f4-44e9-4726-a5be-fca90e38aaf5","name":"aDA"}`, "Ada")
	f.Add(`{"id":"{069a79f4-44e9-4726-a5be-fca90e38aaf5}","name":"Ada","properties":[{}]}`, "Ada")
	f.Add(`{"id":"","name":"Ada"}`, "Ada")
	f.Add(`null`, "")
	f.Fuzz(func(t *testing.T, body, name string) {
		who, err := readProfile(strings.NewReader(body), name)
		switch {
		case err != nil && !errors.Is(err, ErrNonsense):
			t.Fatal(err)
		case err == nil && (!who.Valid() || !strings.EqualFold(who.Name, name)):
			t.Fatalf("%q is %+v", name, who)
		}
	})
}
