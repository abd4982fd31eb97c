import { createAiSdkFace } from './ai-sdk-protocol.ts'
import { createFalFace } from './fal-protocol.ts'
import { createGeminiFace } from './gemini-protocol.ts'
import { createKinoraFace } from './kinora-protocol.ts'
import { createOpenAiFace } from './openai-protocol.ts'
import type { CreateFace } from './protocol.ts'
import { createReplicateFace } from './replicate-protocol.ts'

/** Every protocol the simulated vendor speaks; the first that takes a request answers it. */
export const faces: CreateFace[] = [
  createOpenAiFace,
  createKinoraFace,
  createReplicateFace,
  createAiSdkFace,
  createFalFace,
  createGeminiFace,
]
