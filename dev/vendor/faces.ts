import { createAiSdkFace } from './ai-sdk-face.ts'
import type { CreateFace } from './face.ts'
import { createFalFace } from './fal-face.ts'
import { createGeminiFace } from './gemini-face.ts'
import { createKinoraFace } from './kinora-face.ts'
import { createOpenAiFace } from './openai-face.ts'
import { createReplicateFace } from './replicate-face.ts'

/** Every protocol the simulated vendor speaks; the first that takes a request answers it. */
export const faces: CreateFace[] = [
  createOpenAiFace,
  createKinoraFace,
  createReplicateFace,
  createAiSdkFace,
  createFalFace,
  createGeminiFace,
]
