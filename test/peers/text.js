// SPDX-License-Identifier: Apache-2.0

'use strict'

const nbt = require('prismarine-nbt')

// plain turns a text component, as JSON or NBT, into the text a person reads.
function plain (component) {
  if (component === undefined || component === null) return ''
  if (typeof component === 'string') {
    try {
      return flatten(JSON.parse(component))
    } catch {
      return component
    }
  }
  return flatten(component.type ? nbt.simplify(component) : component)
}

function flatten (c) {
  if (Array.isArray(c)) return c.map(flatten).join('')
  if (typeof c !== 'object' || c === null) return String(c)
  const args = (c.with || []).map(flatten)
  let next = 0
  const text = c.translate === undefined
    ? c.text ?? c[''] ?? ''
    : (c.fallback ?? c.translate).replace(/%(?:(\d+)\$)?s/g, (_, n) => args[n ? n - 1 : next++] ?? '')
  return text + (c.extra || []).map(flatten).join('')
}

module.exports = { plain }
