// SPDX-License-Identifier: Apache-2.0
//
// Copies these programs and their packages for an image, with the game data of
// one version: node pack.js FOLDER VERSION. All versions are half a gigabyte.

'use strict'

const fs = require('fs')
const path = require('path')

const [folder, version] = process.argv.slice(2)
const dataFolder = path.join(__dirname, 'node_modules/minecraft-data/minecraft-data/data')
const paths = require(path.join(dataFolder, 'dataPaths.json')).pc[version]
// common is read whatever the version.
const needed = new Set(['pc/common', 'bedrock/common', ...Object.values(paths)])

// wanted leaves out the data of other versions, and what is only for people.
function wanted (source) {
  const parts = path.relative(dataFolder, source).split(path.sep)
  if (parts[0] === '..' || parts.length < 2) return !/\.(md|ts|map)$/.test(source)
  return needed.has(parts.slice(0, 2).join('/'))
}

for (const entry of fs.readdirSync(__dirname)) {
  if (!/\.(js|json)$/.test(entry) && entry !== 'node_modules') continue
  fs.cpSync(path.join(__dirname, entry), path.join(folder, entry), { recursive: true, dereference: true, filter: wanted })
}
