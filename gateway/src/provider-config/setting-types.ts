/** Types of settings that several schemas use. */
import { Type } from 'typebox'

export const wholeNumber = (options: {
  minimum: number
  maximum?: number
  default?: number
  description?: string
}) => Type.Integer({ maximum: Number.MAX_SAFE_INTEGER, ...options })

export const text = (options: { description: string; 'x-demand'?: string; default?: string }) =>
  Type.String({ minLength: 1, ...options })
