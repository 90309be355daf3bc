"""Pure rules about text: values in, values out. No clock, no database, no await."""
