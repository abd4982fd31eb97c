/** The models of the reference, which every installation has. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { parse } from 'yaml'

import type { RawConfig } from './validate-config.ts'

const file = fileURLToPath(new URL('../../models.yaml', import.meta.url))

export const referenceModels = parse(readFileSync(file, 'utf8'), { merge: true }) as Record<string, RawConfig>
