import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { expect, test } from 'vitest'

import { openModelDirectory } from './model-directory.ts'
import { modelSet, modelSets, setsNamed } from './model-set.ts'

test('every file has a hash, a size and a source, and the sizes of its parts add up', () => {
  for (const { name: set, files, needs } of modelSets) {
    expect(new Set(files.map(({ name }) => name)).size, set).toBe(files.length)
    for (const need of needs) expect(modelSet(need).needs.every((each) => needs.includes(each))).toBe(true)
    for (const { name, bytes, sha256, sources } of files) {
      expect(sha256, `${set}/${name}`).toMatch(/^[0-9a-f]{64}$/)
      expect(bytes).toBeGreaterThan(0)
      expect(sources).not.toEqual([])
      for (const source of sources) {
        if (!('parts' in source)) continue
        expect(source.parts.reduce((sum, part) => sum + part.bytes, 0)).toBe(bytes)
      }
    }
  }
})

test('requested sets include their dependencies, in the order of the table', () => {
  const small = [
    'onnxruntime',
    'kokoro-voices',
    'moonshine-tiny',
    'silero-vad',
    'whisper-tiny',
    'whisper-base',
    'kokoro',
  ]
  expect(setsNamed([], true)).toEqual(small)
  expect(setsNamed([], false)).toEqual(['onnxruntime', 'kokoro-small', ...small.slice(1), 'whisper-small'])
  expect(setsNamed(['kokoro'], false)).toEqual(['onnxruntime', 'kokoro-voices', 'kokoro'])
  expect(setsNamed(['chat'], false)).toEqual(['llama-runtime', 'tinyllama'])
  expect(setsNamed(['speech'], true)).toEqual(['onnxruntime', 'kokoro-voices', 'kokoro'])
  expect(setsNamed(['speech', 'nonsense'], false)).toEqual({ unknown: 'nonsense' })
})

test('a set is present if each of its files has its exact size', async () => {
  const path = await mkdtemp(join(tmpdir(), 'kinora-directory-'))
  try {
    const directory = openModelDirectory(path)
    const { files } = modelSet('whisper-tiny')
    for (const { name, bytes } of files) {
      expect(directory.find('whisper-tiny')).toBeUndefined()
      const file = join(path, 'whisper-tiny', name)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, '')
      await truncate(file, bytes)
    }
    expect(directory.find('whisper-tiny')).toBe(join(path, 'whisper-tiny'))
    await truncate(join(path, 'whisper-tiny', files[0]!.name), 5)
    expect(openModelDirectory(path).find('whisper-tiny')).toBeUndefined()
  } finally {
    await rm(path, { recursive: true })
  }
})
