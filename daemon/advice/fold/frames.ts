// Words that frame a request and say little about what it is about, by language, set by hand. They count less in the
// match between an intent and a tool. A language without a list has no such words: nothing else changes.

import type { Language } from '../../memory/analysis/item.ts'

export const FRAME_WORDS: readonly { language: Exclude<Language, 'auto'>; words: readonly string[] }[] = [
  {
    language: 'en',
    words: listOf(
      'help need want please could would may might must shall let try',
      'tell give show provide share offer suggest suggestion recommend recommendation advise advice explain assist',
      'assistance find look search get obtain retrieve fetch access use make know see check ask',
      'information info detail details specific specifically particular various variety different several many lot',
      'current currently latest recent new available possible reliable comprehensive best good great better top',
      'like interested interest prefer preference include including also etc one thing way kind type option list',
      'user tool app plugin service platform website online hi hello hey thanks thank wondering curious related',
      'regarding based able ensure',
    ),
  },
  {
    language: 'nl',
    words: listOf(
      'help nodig graag alsjeblieft kun kunt zou mag moet laat probeer vertel geef toon bied deel raad advies leg uit',
      'vind zoek haal krijg gebruik maak weet zie controleer vraag informatie gegevens bepaald verschillende veel',
      'huidige nieuwste recent nieuw beschikbaar mogelijk beste goed ook iets manier soort lijst hallo dank bedankt',
    ),
  },
]

function listOf(...lines: string[]): string[] {
  return lines.flatMap((line) => line.split(' '))
}
