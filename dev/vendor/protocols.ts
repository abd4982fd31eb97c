import { createAiSdkProtocol } from './ai-sdk-protocol.ts'
import { createFalProtocol } from './fal-protocol.ts'
import { createGeminiProtocol } from './gemini-protocol.ts'
import { createKinoraProtocol } from './kinora-protocol.ts'
import { createOpenAiProtocol } from './openai-protocol.ts'
import type { CreateProtocol } from './protocol.ts'
import { createReplicateProtocol } from './replicate-protocol.ts'

/** All protocols of the simulated vendor; the first that accepts a request responds. */
export const protocols: CreateProtocol[] = [
  createOpenAiProtocol,
  createKinoraProtocol,
  createReplicateProtocol,
  createAiSdkProtocol,
  createFalProtocol,
  createGeminiProtocol,
]
