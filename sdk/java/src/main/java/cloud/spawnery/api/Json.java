// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;

/**
 * Reads JSON. The JDK has no reader, and a library in a plugin's class path
 * meets the other plugins' versions of it.
 */
final class Json {
    /** How deep objects may nest: the agent's are two deep. */
    private static final int MAX_DEPTH = 32;

    private final String text;
    private int at;
    private int depth;

    private Json(String text) {
        this.text = text;
    }

    /**
     * Reads one object.
     *
     * @throws SpawneryException when the text is anything else
     */
    @SuppressWarnings("unchecked")
    static Map<String, Object> object(String text) {
        Json reader = new Json(text);
        Object read = reader.value();
        reader.space();
        if (reader.at != text.length() || !(read instanceof Map)) {
            throw reader.wrong("one object");
        }
        return (Map<String, Object>) read;
    }

    /** A text as JSON. */
    static String quoted(String text) {
        StringBuilder written = new StringBuilder("\"");
        for (char next : text.toCharArray()) {
            if (next == '"' || next == '\\' || next < ' ') {
                written.append(String.format("\\u%04x", (int) next));
            } else {
                written.append(next);
            }
        }
        return written.append('"').toString();
    }

    /** A field as text; empty when it is absent. */
    static String text(Map<?, ?> all, String field) {
        return Optional.ofNullable(all.get(field)).map(Object::toString).orElse("");
    }

    /** A field as a whole number; empty when it is absent. */
    static OptionalInt number(Map<?, ?> all, String field) {
        return all.get(field) instanceof Number found ? OptionalInt.of(found.intValue()) : OptionalInt.empty();
    }

    /** The objects of a list; none when it is absent. */
    static <T> List<T> list(Map<?, ?> all, String field, Function<Map<?, ?>, T> read) {
        List<T> found = new ArrayList<>();
        if (all.get(field) instanceof List<?> elements) {
            for (Object element : elements) {
                if (element instanceof Map<?, ?> object) {
                    found.add(read.apply(object));
                }
            }
        }
        return List.copyOf(found);
    }

    private Object value() {
        space();
        switch (peek()) {
            case '{':
                return members();
            case '[':
                return elements();
            case '"':
                return string();
            case 't':
                return word("true", Boolean.TRUE);
            case 'f':
                return word("false", Boolean.FALSE);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> members() {
        Map<String, Object> all = new LinkedHashMap<>();
        enter('{');
        for (boolean first = true; !ends('}'); first = false) {
            if (!first) {
                expect(',');
                space();
            }
            String name = string();
            space();
            expect(':');
            all.put(name, value());
        }
        depth--;
        return all;
    }

    private List<Object> elements() {
        List<Object> all = new ArrayList<>();
        enter('[');
        for (boolean first = true; !ends(']'); first = false) {
            if (!first) {
                expect(',');
            }
            all.add(value());
        }
        depth--;
        return all;
    }

    private void enter(char bracket) {
        expect(bracket);
        if (++depth > MAX_DEPTH) {
            throw wrong("less nesting");
        }
    }

    /** Whether the bracket is next, which is then behind us. */
    private boolean ends(char bracket) {
        space();
        if (peek() != bracket) {
            return false;
        }
        at++;
        return true;
    }

    private String string() {
        expect('"');
        StringBuilder read = new StringBuilder();
        for (char next = take(); next != '"'; next = take()) {
            read.append(next == '\\' ? escaped() : next);
        }
        return read.toString();
    }

    private char escaped() {
        char next = take();
        switch (next) {
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                at += 4;
                if (at > text.length()) {
                    throw wrong("four digits");
                }
                try {
                    return (char) Integer.parseInt(text.substring(at - 4, at), 16);
                } catch (NumberFormatException e) {
                    throw wrong("four digits");
                }
            default:
                return next;
        }
    }

    private Number number() {
        int start = at;
        while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        try {
            return Double.valueOf(text.substring(start, at));
        } catch (NumberFormatException e) {
            throw wrong("a value");
        }
    }

    private Object word(String word, Object means) {
        if (!text.startsWith(word, at)) {
            throw wrong(word);
        }
        at += word.length();
        return means;
    }

    private void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private char peek() {
        return at < text.length() ? text.charAt(at) : '\0';
    }

    private char take() {
        if (at >= text.length()) {
            throw wrong("more");
        }
        return text.charAt(at++);
    }

    private void expect(char wanted) {
        if (take() != wanted) {
            at--;
            throw wrong("'" + wanted + "'");
        }
    }

    private SpawneryException wrong(String wanted) {
        return new SpawneryException("the agent's answer cannot be read: at character " + at + " there should be " + wanted);
    }
}
