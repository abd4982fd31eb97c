/** Says which filters hide everything, and removes them. */
import { X } from 'lucide-react'

import { useTexts } from '../i18n/texts.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { EmptyState } from '../ui/feedback.tsx'
import { describeFilter, type FilterName, type RequestSearch } from './filters.ts'
import { requestTexts } from './texts.ts'

interface NoMatchProps {
  title: string
  detail: string
  search: RequestSearch
  /** The filters that apply. */
  names: FilterName[]
  onChange: (changes: { [Name in FilterName]?: undefined } & { paths?: string }) => void
  /** Whether requests to other paths are hidden. */
  hidesPaths?: boolean
}

export const NoMatch = ({ title, detail, search, names, onChange, hidesPaths = false }: NoMatchProps) => {
  const texts = useTexts(requestTexts)
  const active = names.filter((name) => search[name] !== undefined)
  return (
    <Card>
      <EmptyState
        title={title}
        actions={
          (active.length > 0 || hidesPaths) && (
            <>
              {active.map((name) => (
                <Button key={name} icon={<X />} onPress={() => onChange({ [name]: undefined })}>
                  {texts.noMatch.remove(texts.filters[name], describeFilter(name, search[name] ?? '', texts))}
                </Button>
              ))}
              {hidesPaths && <Button onPress={() => onChange({ paths: 'all' })}>{texts.paths.all}</Button>}
              {active.length > 1 && (
                <Button
                  variant="ghost"
                  onPress={() => onChange(Object.fromEntries(active.map((name) => [name, undefined])))}
                >
                  {texts.noMatch.removeAll}
                </Button>
              )}
            </>
          )
        }
      >
        {detail}
      </EmptyState>
    </Card>
  )
}
