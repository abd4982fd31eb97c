import { afterEach } from 'vitest'

import { closePages } from './console.ts'

afterEach(closePages)
