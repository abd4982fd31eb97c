export const texts = {
  optional: 'optional',
  notSet: 'Not set',
  choose: 'Choose',
  atLeast: (value: string) => `from ${value}`,
  more: (count: number) => (count === 1 ? '1 more setting' : `${count} more settings`),
  switches: { true: 'Yes', false: 'No' },
  problems: {
    required: 'A value is needed here.',
    number: 'This must be a number.',
    integer: 'This must be a whole number.',
    json: 'This must be valid JSON.',
    minimum: (limit: string) => `The smallest allowed value is ${limit}.`,
    maximum: (limit: string) => `The largest allowed value is ${limit}.`,
    demand: (demand: string) => `This must be ${demand}.`,
  },
  /** Instead of the labels and helps of the API, which are in English. */
  labels: {} as Record<string, string>,
  helps: { api_key: 'It is stored encrypted and never shown again.' } as Record<string, string>,
}
