import { createAiSdkProtocol } from './ai-sdk-protocol.ts'
import { createFalProtocol } from './fal-protocol.ts'
import { createGeminiProtocol } from './gemini-protocol.ts'
import { createKinoraProtocol } from './kinora-protocol.ts'
import { createOpenAiProtocol } from './openai-protocol.ts'
import type { CreateProtocol } from './protocol.ts'
import { createReplicateProtocol } from './replicate-protocol.ts'

/** Every protocol the simulated vendor speaks; the first that takes a request answers it. */
export const protocols: CreateProtocol[] = [
  createOpenAiProtocol,
  createKinoraProtocol,
  createReplicateProtocol,
  createAiSdkProtocol,
  createFalProtocol,
  createGeminiProtocol,
]
