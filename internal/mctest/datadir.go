// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/magiconair/properties"
	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/msmp"
)

// ErrEULA means that nobody has accepted the game's licence in the data
// directory. A real server says so and exits with 0.
var ErrEULA = errors.New("you need to agree to the EULA in order to run the server, go to eula.txt for more info")

const (
	propertiesFile = "server.properties"
	eulaFile       = "eula.txt"
	operatorsFile  = "ops.json"
	paperFile      = "config/paper-global.yml"
	// forwardingVariable overrides the secret in Paper's file.
	forwardingVariable = "PAPER_VELOCITY_SECRET"
)

// ReadSettings takes a server's settings from where a real one takes them: the
// files of its data directory, and getenv. It writes what a real one writes
// there: a missing eula.txt, and server.properties with every key. What would
// keep a real server from starting is an error.
func ReadSettings(directory string, getenv func(string) string) (Settings, error) {
	if err := checkEULA(directory); err != nil {
		return Settings{}, err
	}
	props, err := readProperties(filepath.Join(directory, propertiesFile))
	if err != nil {
		return Settings{}, err
	}
	settings := Settings{
		Address:    net.JoinHostPort(props.get("server-ip", ""), strconv.Itoa(props.number("server-port", 25565))),
		MaxPlayers: props.number("max-players", 20),
		Directory:  filepath.Join(directory, props.get("level-name", "world")),
		Operators:  filepath.Join(directory, operatorsFile),
		Threshold:  props.number("network-compression-threshold", 256),
	}
	if settings.Threshold == 0 {
		// 0 and 1 both compress everything; in Settings, 0 is the default.
		settings.Threshold = 1
	}
	if props.is("online-mode", true) {
		settings.Authentication = Online
	}
	if !props.is("enable-status", true) {
		settings.Status = IgnoreStatus
	}
	if settings.Management, err = props.management(); err != nil {
		return Settings{}, err
	}
	if settings.ForwardingSecret, err = readForwarding(filepath.Join(directory, paperFile), getenv); err != nil {
		return Settings{}, err
	}
	return settings, props.store()
}

func checkEULA(directory string) error {
	path := filepath.Join(directory, eulaFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text := "#By changing the setting below to TRUE you are indicating your agreement to our EULA.\neula=false\n"
		if err := os.WriteFile(path, []byte(text), 0o664); err != nil {
			return fmt.Errorf("write the question for the EULA: %w", err)
		}
		return ErrEULA
	}
	if err != nil {
		return fmt.Errorf("read the EULA: %w", err)
	}
	answer, err := parseProperties(data)
	if err != nil {
		return fmt.Errorf("read the EULA: %w", err)
	}
	if agreed, _ := answer.Get("eula"); !strings.EqualFold(agreed, "true") {
		return ErrEULA
	}
	return nil
}

// parseProperties reads Java's format as the game does: UTF-8, and the older
// single-byte encoding where it is not.
func parseProperties(data []byte) (*properties.Properties, error) {
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	if !utf8.Valid(data) {
		loader.Encoding = properties.ISO_8859_1
	}
	return loader.LoadBytes(data)
}

// serverProperties are read with defaults, and remember them: the game writes
// every key it has asked for.
type serverProperties struct {
	path string
	*properties.Properties
}

func readProperties(path string) (*serverProperties, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", propertiesFile, err)
	}
	parsed, err := parseProperties(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", propertiesFile, err)
	}
	return &serverProperties{path: path, Properties: parsed}, nil
}

func (p *serverProperties) get(key, otherwise string) string {
	if value, ok := p.Get(key); ok {
		return strings.TrimSpace(value)
	}
	_, _, _ = p.Set(key, otherwise)
	return otherwise
}

// number falls back as the game does: a value that is none is the default.
func (p *serverProperties) number(key string, otherwise int) int {
	if n, err := strconv.Atoi(p.get(key, strconv.Itoa(otherwise))); err == nil {
		return n
	}
	return otherwise
}

func (p *serverProperties) is(key string, otherwise bool) bool {
	return strings.EqualFold(p.get(key, strconv.FormatBool(otherwise)), "true")
}

// management refuses what a real server refuses to start with. The double has
// no TLS: with a keystore a real server would go on.
func (p *serverProperties) management() (*ManagementSettings, error) {
	enabled := p.is("management-server-enabled", false)
	host := p.get("management-server-host", "localhost")
	port := p.number("management-server-port", 0)
	secret := p.get("management-server-secret", "")
	encrypted := p.is("management-server-tls-enabled", true)
	keystore := p.get("management-server-tls-keystore", "")
	if secret == "" {
		secret = newSecret()
		_, _, _ = p.Set("management-server-secret", secret)
	}
	switch err := msmp.ValidSecret(secret); {
	case !enabled:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: management-server-secret: %w", propertiesFile, err)
	case encrypted && keystore == "":
		return nil, fmt.Errorf("%s: management-server-tls-enabled is true, but management-server-tls-keystore is empty", propertiesFile)
	case encrypted:
		return nil, fmt.Errorf("%s: management-server-tls-enabled is true, and this double has no TLS", propertiesFile)
	}
	return &ManagementSettings{Address: net.JoinHostPort(host, strconv.Itoa(port)), Secret: secret}, nil
}

func newSecret() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	random := make([]byte, msmp.SecretLength)
	_, _ = rand.Read(random)
	for i, b := range random {
		random[i] = letters[int(b)%len(letters)]
	}
	return string(random)
}

// store writes the file anew, as the game does at every start.
func (p *serverProperties) store() error {
	var b bytes.Buffer
	b.WriteString("#Minecraft server properties\n")
	p.WriteSeparator = "="
	if _, err := p.WriteComment(&b, "#", properties.UTF8); err != nil {
		return fmt.Errorf("write %s: %w", propertiesFile, err)
	}
	if err := os.WriteFile(p.path, b.Bytes(), 0o664); err != nil {
		return fmt.Errorf("write %s: %w", propertiesFile, err)
	}
	return nil
}

// readForwarding returns the secret, or nothing when forwarding is off. As in
// Paper, forwarding without a secret is no forwarding.
func readForwarding(path string, getenv func(string) string) (string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", paperFile, err)
	}
	var config struct {
		Proxies struct {
			Velocity struct {
				Enabled bool   `json:"enabled"`
				Secret  string `json:"secret"`
			} `json:"velocity"`
		} `json:"proxies"`
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		return "", fmt.Errorf("read %s: %w", paperFile, err)
	}
	velocity := config.Proxies.Velocity
	if !velocity.Enabled {
		return "", nil
	}
	if secret := getenv(forwardingVariable); secret != "" {
		return secret, nil
	}
	return velocity.Secret, nil
}

// Console runs one line typed at the server's console.
func (s *Server) Console(line string) {
	s.hang.over()
	command, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch strings.TrimPrefix(command, "/") {
	case "":
	case "stop":
		s.Stop()
	case "list":
		s.logf("%s", s.list())
	case "save-all":
		// The console has told what went wrong.
		_ = s.save()
	case "say":
		s.Broadcast("[Server] " + rest)
	case "kick":
		if err := s.Kick(rest, mcproto.Text{Translate: "multiplayer.disconnect.kicked", Fallback: "Kicked by an operator"}); err != nil {
			s.logf("%v", err)
		}
	case "op":
		if err := s.makeOperator(rest); err != nil {
			s.logf("%v", err)
		}
	case "hang":
		// No command of a game: it stands for whatever makes one hang.
		s.Hang()
	case "help":
		s.logf("stop, list, save-all, say, kick, op, hang")
	default:
		s.logf("Unknown or incomplete command, see below for error: %s", command)
	}
}
