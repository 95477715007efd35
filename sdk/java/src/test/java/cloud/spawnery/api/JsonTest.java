// SPDX-License-Identifier: Apache-2.0

package cloud.spawnery.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {
    @Test
    void everyKindOfValueIsRead() {
        Map<String, Object> read = Json.object(
                " {\"a\": -1.5e1, \"b\":[true,false , null,{}], \"c\\n\\u00e4\\\"\": \"\\/x\\t\", \"d\" : [] } ");
        assertEquals(-15.0, read.get("a"));
        assertEquals(Arrays.asList(true, false, null, Map.of()), read.get("b"));
        assertEquals("/x\t", read.get("c\nä\""));
        assertEquals(List.of(), read.get("d"));
    }

    @Test
    void whatIsNoObjectIsRefused() {
        for (String wrong : List.of(
                "", "[]", "1", "{", "{}x", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\":1 \"b\":2}", "{\"a\":tru}",
                "{\"a\":\"\\u12\"}", "{\"a\":\"\\uzzzz\"}", "{\"a\":\"", "{'a':1}", "{\"a\":" + "[".repeat(100) + "]".repeat(100) + "}")) {
            assertThrows(SpawneryException.class, () -> Json.object(wrong), wrong);
        }
    }
}
