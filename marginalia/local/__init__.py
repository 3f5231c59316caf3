"""Local processes: started, watched and ended, the embedded MongoDB among them. Knows neither Django nor the other packages."""
