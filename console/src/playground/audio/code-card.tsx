/** The request of the form as code. */
import { useDeferredValue } from 'react'

import { CodePanels } from '../code/code-panels.tsx'
import { writeSamples } from './audio-code.ts'

export const CodeCard = (request: Parameters<typeof writeSamples>[0]) => (
  <CodePanels panels={writeSamples(useDeferredValue(request))} />
)
